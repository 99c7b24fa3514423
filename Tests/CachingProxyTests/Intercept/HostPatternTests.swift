import Testing

@testable import CachingProxy

@Suite struct HostPatternTests {
  @Test func `a name stands for itself, and with a star for those below it`() throws {
    let (exact, below) = (
      try #require(HostPattern("Bank.test")), try #require(HostPattern("*.bank.test"))
    )
    #expect(exact.matches("bank.test") && !exact.matches("www.bank.test"))
    #expect(below.matches("www.bank.test") && below.matches("a.b.bank.test"))
    #expect(!below.matches("bank.test") && !below.matches("mybank.test"))
  }

  @Test func `a dot at the end makes no difference`() throws {
    for text in ["bank.test", "bank.test."] {
      let pattern = try #require(HostPattern(text))
      #expect(pattern.matches("bank.test") && pattern.matches("bank.test."))
      #expect(!pattern.matches("bank.test.."))
    }
    #expect(try #require(HostPattern("*.bank.test")).matches("www.bank.test."))
  }

  @Test(arguments: ["", "*", "*.", "a.*.test", "**.test", "a.test:8443", "a/b", "a b"])
  func `other texts are no patterns`(text: String) { #expect(HostPattern(text) == nil) }
}
