import Testing

@testable import CommandLineTools

@Suite struct TextEscapingTests {
  @Test(
    arguments: [
      (Array("plain é 漢 🎈".utf8), "plain é 漢 🎈"),
      (Array("a\nb\tc\r".utf8), "a\\nb\\tc\\r"),
      (Array("\u{1B}[2J\u{7}\u{7F}\u{0}".utf8), "\\x1b[2J\\x07\\x7f\\x00"),
      (Array("\u{9B}2J".utf8), "\\u{9b}2J"),
      (Array("evil\u{202E}fdp".utf8), "evil\\u{202e}fdp"),
      (Array("back\\slash".utf8), "back\\\\slash"),
      ([0x61, 0xFF, 0x62, 0xC3], "a\\xffb\\xc3"),
      ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
      ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"),
      ([], ""),
    ] as [([UInt8], String)])
  func `bytes are shown without steering the terminal`(bytes: [UInt8], shown: String) {
    #expect(terminalSafe(bytes) == shown)
    #expect(withoutControls(shown) == shown)
  }

  @Test func `a message is escaped once, whatever it is made of`() {
    #expect(withoutControls("a\u{1B}[2J\nb\u{202E}c\\d é") == "a\\x1b[2J\\nb\\u{202e}c\\d é")
  }
}
