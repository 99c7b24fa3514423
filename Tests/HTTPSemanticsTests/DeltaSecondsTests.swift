import HTTPSemantics
import Testing

struct DeltaSecondsTests {
  @Test(
    arguments: [
      ("0", 0), ("7", 7), ("003600", 3600), ("2147483647", 2_147_483_647),
      ("2147483648", 2_147_483_648), ("2147483649", 2_147_483_648),
      ("99999999999", 2_147_483_648), ("9223372036854775808", 2_147_483_648),
      (String(repeating: "9", count: 1000), 2_147_483_648),
    ] as [(String, Int64)])
  func `digits are a number, and what is too large is the largest`(text: String, seconds: Int64) {
    #expect(DeltaSeconds.parse(Array(text.utf8).span) == seconds)
  }

  @Test(
    arguments: ["", " ", "-1", "+1", "1.0", "1 ", " 1", "1a", "a1", "'1'", "\"1\"", "0x10", "١"])
  func `anything but digits is no number`(text: String) {
    #expect(DeltaSeconds.parse(Array(text.utf8).span) == nil)
  }
}
