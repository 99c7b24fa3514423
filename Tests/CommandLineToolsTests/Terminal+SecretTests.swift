import Testing

@testable import CommandLineTools

@Suite struct TerminalSecretTests {
  private func line(_ keys: String) -> (events: [SecretLine.Event], text: String) {
    var line = SecretLine()
    let events = keys.utf8.map { line.take($0) }
    return (events, String(decoding: line.bytes, as: UTF8.self))
  }

  @Test(arguments: [
    ("secret\n", "secret"), ("pw\r", "pw"), ("\n", ""), ("sx\u{7F}e\u{8}ecret\n", "secret"),
    ("wrong\u{15}right\n", "right"), ("a\u{FC}\u{7F}\u{20AC}\u{7F}b\n", "ab"),
    ("\u{7F}\u{7F}x\n", "x"), ("a\u{1A}\u{1C}b\n", "ab"), (" a b \n", " a b "), ("ab\u{4}", "ab"),
  ])
  func `keys make a line`(keys: String, expected: String) {
    let (events, text) = line(keys)
    #expect(text == expected)
    #expect(events.last == .end)
    #expect(events.dropLast().allSatisfy { $0 == .more })
  }

  @Test func `Ctrl-C interrupts, and Ctrl-D says nothing where nothing was typed`() {
    #expect(line("abc\u{3}").events.last == .interrupt)
    #expect(line("\u{4}").events.last == .nothing)
  }
}
