import Testing

@testable import CacheFormat

@Suite struct ByteCountTests {
  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_524, "1023.9 KiB"),
      (1_048_525, "1.0 MiB"), (5_368_709_120, "5.0 GiB"), (UInt64.max, "16.0 EiB"),
    ] as [(UInt64, String)])
  func `a count of bytes is rounded for people`(bytes: UInt64, text: String) {
    #expect(ByteCount(bytes).description == text)
  }

  @Test(
    arguments: [(0, "0"), (1, "1"), (4097, "4097"), (4096, "4K"), (524_288_000, "500M")]
      as [(UInt64, String)])
  func `an exact count has the largest unit that divides it`(bytes: UInt64, text: String) {
    #expect(ByteCount(bytes).exact == text)
  }
}
