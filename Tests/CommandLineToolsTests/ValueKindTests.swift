import Testing

@testable import CommandLineTools

@Suite struct ValueKindTests {
  @Test(arguments: [("0", 0), ("-3", -3), ("1_000", 1000), ("10000", 10_000)] as [(Argument, Int)])
  func `a whole number within bounds is read`(argument: Argument, number: Int) throws {
    #expect(try ValueKind.integer(in: -5...10_000).parse(argument) == number)
  }

  @Test(
    arguments: [
      "", "_", "x", "1.5", "10001", "-6", "99999999999999999999", Argument(bytes: [0xC3]),
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

  @Test(
    arguments: [
      ("ofline", "offline"), ("off", "offline"), ("paralel", "parallel"), ("lits", "list"),
      ("stroe", "store"),
    ])
  func `the likeliest word is found`(typed: String, meant: String) {
    #expect(nearest(to: typed, among: ["list", "offline", "parallel", "store"]) == meant)
  }

  @Test(arguments: ["", "q", "zzzzz", "onlinebanking"])
  func `no word is suggested when none is near`(typed: String) {
    #expect(nearest(to: typed, among: ["list", "offline", "ls", "rm", "x"]) == nil)
  }

  @Test(
    arguments: [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("kitten", "sitting", 3)]
      as [(String, String, Int)])
  func `the edit distance counts swaps as one`(left: String, right: String, distance: Int) {
    #expect(editDistance(Array(left.utf8), Array(right.utf8)) == distance)
    #expect(editDistance(Array(right.utf8), Array(left.utf8)) == distance)
  }
}
