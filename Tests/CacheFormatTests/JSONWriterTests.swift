import Testing

@testable import CacheFormat

@Suite struct JSONWriterTests {
  private func json(_ text: String, isASCII: Bool = false) -> String {
    var writer = JSONWriter()
    writer.appendText(text, isASCII: isASCII)
    return writer.text
  }

  @Test(arguments: [
    ("a\"\\/\n\r\t\u{0}\u{7F}", #""a\"\\/\n\r\t\u0000\u007f""#),
    ("\u{9B}\u{61C}\u{202E}\u{FEFF}é", #""\u009b\u061c\u202e\ufeffé""#),
    ("\u{E0001}\u{1F600}", "\"\\udb40\\udc01\u{1F600}\""),
  ])
  func `text cannot steer a terminal`(text: String, expected: String) {
    #expect(json(text) == expected)
  }

  @Test func `text can be written in ASCII alone`() {
    #expect(json("é\u{1F600}\u{7F}", isASCII: true) == #""\u00e9\ud83d\ude00\u007f""#)
  }

  @Test(arguments: [false, true])
  func `every character comes back as it was`(isASCII: Bool) throws {
    for first in stride(from: UInt32(0), through: 0x10FFFF, by: 256) {
      let scalars = (first..<first + 256).compactMap { Unicode.Scalar($0) }
      let text = String(String.UnicodeScalarView(scalars))
      var reader = JSONReader(Array(json(text, isASCII: isASCII).utf8))
      #expect(try reader.readString() == Array(text.utf8))
    }
  }

  @Test func `what is not finite is null`() {
    for (number, text) in [(Double.nan, "null"), (-.infinity, "null"), (0.5, "0.5")] {
      var writer = JSONWriter()
      writer.appendNumber(number)
      #expect(writer.text == text)
    }
  }
}
