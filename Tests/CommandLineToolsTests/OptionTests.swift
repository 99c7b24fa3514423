import Testing

@testable import CommandLineTools

@Suite struct OptionTests {
  /// Reads the default that the help shows, as if it were typed.
  private func typed<Value>(_ option: Option<Value>) throws -> Value? {
    let text = try #require(option.specification.defaultText)
    return try option.specification.read?(Argument(text)) as? Value
  }

  @Test func `a default can be typed as the help shows it`() throws {
    for size in [0, 1, 1023, 1024, 1536, 1 << 62, UInt64(Int64.max)] as [UInt64] {
      #expect(try typed(Option("a", .size(), default: size, help: "")) == size)
    }
    for time in [Duration.zero, .milliseconds(1), .seconds(1), .seconds(90), .seconds(86_400)] {
      #expect(try typed(Option("a", .duration, default: time, help: "")) == time)
    }
    for number in [0, 1, Int.max] {
      #expect(try typed(Option("a", .integer(), default: number, help: "")) == number)
    }
    #expect(try typed(Option("a", .text, default: "x y", help: "")) == "x y")
    #expect(try typed(Option("a", ValueKind<Sample.Order>.choice, default: .age, help: "")) == .age)
    #expect(try typed(Option("a", .path, default: "/a b", help: "")) == "/a b")
  }

  @Test func `a text for the default stands in its place, and none means none`() {
    let told = Option("a", .integer(), default: 7, defaultText: "as many", help: "")
    #expect(told.specification.defaultText == "as many" && told.defaultValue == 7)
    #expect(Option("a", .integer(), help: "").specification.defaultText == nil)
    #expect(Flag("a", help: "").specification.defaultText == nil)
  }

  @Test func `a flag has no value and may be repeated, an option has one`() {
    let flag = Flag("json", short: "j", help: "").specification
    #expect(flag.read == nil && flag.placeholder == nil && flag.repeats)
    let option = Option("bytes", .size().named("MOST"), help: "").specification
    #expect(option.read != nil && option.placeholder == "MOST" && !option.repeats)
    #expect(option.spelling == "--bytes" && option.group == OptionSpecification.defaultGroup)
  }

  @Test(
    arguments: [
      (.one, 1, 1, "<a>"), (.optional, 0, 1, "[<a>]"), (.any, 0, .max, "[<a>...]"),
      (.oneOrMore, 1, .max, "<a>..."),
    ] as [(Arity, Int, Int, String)])
  func `a parameter is shown as often as it may be given`(
    arity: Arity, minimum: Int, maximum: Int, usage: String
  ) {
    #expect((arity.minimum, arity.maximum) == (minimum, maximum))
    #expect(Parameter("a", .text, arity, help: "").specification.usage == usage)
  }
}
