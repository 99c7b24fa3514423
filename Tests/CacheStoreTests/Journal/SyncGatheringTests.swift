import Testing

@testable import CacheStore

@Suite struct SyncGatheringTests {
  @Test func `a sync waits for the threads that waited for the last one`() {
    var gathering = SyncGathering()
    let first = gathering.begin(waiting: 1)
    #expect(first?.threads == nil)
    // Three threads came during the sync of the first.
    gathering.end(waiting: 4, nanoseconds: 1_000_000)
    let wish = gathering.begin(waiting: 3)
    #expect(wish?.threads == 4)
    #expect(wish?.nanoseconds == 500_000)
    gathering.end(waiting: 4, nanoseconds: 1_000_000)
    let none = gathering.begin(waiting: 4)
    #expect(none?.threads == nil)
  }

  @Test func `a thread that is alone never waits`() {
    var gathering = SyncGathering()
    for _ in 0..<3 {
      let wish = gathering.begin(waiting: 1)
      #expect(wish?.threads == nil)
      gathering.end(waiting: 1, nanoseconds: 50_000_000)
    }
  }

  @Test func `no wait is longer than a millisecond`() {
    var gathering = SyncGathering()
    gathering.end(waiting: 2, nanoseconds: 5_000_000_000)
    let wish = gathering.begin(waiting: 1)
    #expect(wish?.nanoseconds == SyncGathering.longest)
  }

  @Test func `threads that do not come back are not waited for again and again`() {
    var gathering = SyncGathering()
    var waits = 0
    for _ in 0..<34 {
      gathering.end(waiting: 2, nanoseconds: 1_000_000)
      if gathering.begin(waiting: 1) != nil {
        waits += 1
        gathering.missed()
      }
    }
    #expect(waits == 2)
  }
}
