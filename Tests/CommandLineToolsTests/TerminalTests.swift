import Testing

@testable import CommandLineTools

struct TerminalTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("ä", 1), ("e\u{301}", 1), ("日本", 4), ("한", 2), ("😀", 2), ("ｱ", 1),
    ("Ａ", 2), ("a日b", 4), ("👩‍👩‍👧", 2),
  ])
  func `wide characters take two columns`(text: String, width: Int) {
    #expect(displayWidth(text) == width)
  }

  @Test func `what is no terminal has a width, too`() {
    #expect(!Terminal.isTerminal(-1))
    #expect((20...1_000).contains(Terminal.width(of: -1)))
  }
}
