import Testing

@testable import CommandLineTools

@Suite struct QuantitiesTests {
  @Test(
    arguments: [
      ("0", 0), ("1", 1), ("4096", 4096), ("7b", 7), ("500M", 524_288_000), ("500m", 524_288_000),
      ("2GiB", 2_147_483_648), ("2gi", 2_147_483_648), ("1.5GB", 1_500_000_000), ("1KB", 1000),
      ("1K", 1024), ("0.5K", 512), ("0.0001K", 0), ("1.999K", 2046), ("3T", 3_298_534_883_328),
      ("1PB", 1_000_000_000_000_000), ("8191P", 9_222_246_136_947_933_184),
      ("000000000000000001", 1), ("9223372036854775807", 9_223_372_036_854_775_807),
      ("1.000000000000000000K", 1024),
    ] as [(String, UInt64)])
  func `a size is read`(text: String, bytes: UInt64) {
    #expect(parseSize(Argument(text)) == bytes)
  }

  @Test(
    arguments: [
      "", "M", "-1", "1.M", ".5M", "1..5M", "1 M", "1MM", "1iB", "1KiBB", "1e3", "0x10", "8192P",
      "9223372036854775808", "9999999999999999999", "99999999999999999999", "1\u{0}", "１",
      // There are no fractions of a byte.
      "1.5", "1.0", "0.5b", "1.5B",
    ])
  func `what is no size is refused`(text: String) {
    #expect(parseSize(Argument(text)) == nil)
  }

  @Test(
    arguments: [
      ("0", .zero), ("30s", .seconds(30)), ("5m", .seconds(300)), ("12h", .seconds(43_200)),
      ("7d", .seconds(604_800)), ("2w", .seconds(1_209_600)), ("250ms", .milliseconds(250)),
      ("1h30m", .seconds(5400)), ("1.5h", .seconds(5400)), ("0s", .zero),
      ("0.001s", .milliseconds(1)),
    ] as [(String, Duration)])
  func `a duration is read`(text: String, duration: Duration) {
    #expect(parseDuration(Argument(text)) == duration)
  }

  @Test(arguments: ["", "30", "s", "-1s", "1y", "1h30", "1 h", "1M", "999999999d", "1h-5m"])
  func `what is no duration is refused`(text: String) {
    #expect(parseDuration(Argument(text)) == nil)
  }

  @Test func `seconds are digits, or a duration`() {
    for (text, number) in [("90", 90), ("1m", 60), ("0", 0), ("007", 7)] {
      #expect(ValueKind.seconds.value(of: Argument(text)) == .seconds(number))
    }
    for text in ["", "+5", "-0", "-5", "1_0", "99999999999999999999"] {
      #expect(ValueKind.seconds.value(of: Argument(text)) == nil, "\(text)")
    }
  }

  @Test(
    arguments: [
      (.seconds(30), "30s"), (.seconds(300), "5m"), (.seconds(43_200), "12h"),
      (.seconds(604_800), "7d"), (.milliseconds(1250), "1250ms"), (.zero, "0s"),
    ] as [(Duration, String)])
  func `a duration is described as it is typed`(duration: Duration, text: String) {
    #expect(describeDuration(duration) == text)
    #expect(parseDuration(Argument(text)) == duration)
  }
}
