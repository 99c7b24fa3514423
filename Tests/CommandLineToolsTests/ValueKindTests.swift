import Testing

@testable import CommandLineTools

@Suite struct ValueKindTests {
  @Test(arguments: [("0", 0), ("-3", -3), ("007", 7), ("10000", 10_000)] as [(Argument, Int)])
  func `a whole number within bounds is read`(argument: Argument, number: Int) throws {
    #expect(try ValueKind.integer(in: -5...10_000).parse(argument) == number)
  }

  @Test(
    arguments: [
      "", "_", "-", "x", "1.5", "10001", "+4", "1_0", "1_000", "-0", "--1", "\u{664}", "-6",
      "99999999999999999999", Argument(bytes: [0xC3]),
    ])
  func `what is no whole number within bounds is refused`(argument: Argument) {
    #expect(throws: InvalidValue(expected: "a whole number from -5 to 10000")) {
      try ValueKind.integer(in: -5...10_000).parse(argument)
    }
  }

  @Test func `an open bound is said in words`() {
    #expect(throws: InvalidValue(expected: "a whole number of at least 1")) {
      try ValueKind.integer(in: 1...Int.max).parse("0")
    }
    #expect(throws: InvalidValue(expected: "a size such as 500M, 2GiB or 1.5GB, of at least 1K")) {
      try ValueKind.size(in: 1024...UInt64.max).parse("1000")
    }
    #expect(
      throws: InvalidValue(expected: "a size such as 500M, 2GiB or 1.5GB, from 1K to 1M")
    ) {
      try ValueKind.size(in: 1024...1_048_576).parse("2M")
    }
  }

  @Test func `choices are read by their spelling`() throws {
    #expect(try ValueKind<Sample.Order>.choice.parse("size") == .size)
    #expect(try ValueKind.choice(["on", "off"]).parse("off") == "off")
    #expect(throws: InvalidValue(expected: "one of on, off")) {
      try ValueKind.choice(["on", "off"]).parse("maybe")
    }
  }
}
