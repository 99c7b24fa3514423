import CacheFormat
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    (0.0, 0), (1.5, 1_500_000_000), (-1.5, -1_500_000_000), (1e-9, 1), (0.4e-9, 0), (-0.6e-9, -1),
    (1_795_204_908.25, 1_795_204_908_250_000_000), (1e300, Int64.max), (-1e300, Int64.min),
    (.infinity, Int64.max), (-.infinity, Int64.min), (9_223_372_036.9, Int64.max),
    (-9_223_372_036.9, Int64.min),
  ])
  func `seconds become the nearest nanosecond inside the span`(seconds: Double, expected: Int64) {
    #expect(Timestamp(seconds: seconds).nanoseconds == expected)
  }

  @Test func `advancing stops at the ends`() {
    let time = Timestamp(nanoseconds: 1_000_000_000)
    #expect(time.advanced(bySeconds: -2.5) == Timestamp(nanoseconds: -1_500_000_000))
    #expect(time.advanced(bySeconds: .infinity) == .distantFuture)
    #expect(Timestamp.distantPast.advanced(bySeconds: -1) == .distantPast)
    #expect(Timestamp.distantFuture.advanced(bySeconds: 1) == .distantFuture)
    #expect(Timestamp(nanoseconds: 1) < Timestamp(nanoseconds: 2))
    #expect(Timestamp(nanoseconds: -1_500_000_000).seconds == -1.5)
  }

  @Test func `a number that is none traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = Timestamp(seconds: .nan)
    }
  }
}
