import CacheStore
import Testing

@testable import CachingProxy

struct TrafficCountsTests {
  private func counts(_ outcomes: [AnswerOutcome], sent: UInt64 = 10, fetched: UInt64 = 4)
    -> TrafficCounts
  {
    var counts = TrafficCounts()
    for outcome in outcomes { counts.add(Sample.record(bytes: sent), (outcome, fetched)) }
    return counts
  }

  @Test func `the hit rate is that of the answers that a cache may give`() {
    #expect(counts([]).hitRate == nil && counts([.bypass, .bypass]).hitRate == nil)
    #expect(counts([.hit, .stale, .miss, .bypass]).hitRate == 2.0 / 3)
    #expect(counts([.revalidated, .error]).hitRate == 0)
    #expect(counts([.hit, .stale, .revalidated]).fromStore == 2)
    #expect(counts(AnswerOutcome.allCases).all == UInt64(AnswerOutcome.allCases.count))
  }

  @Test func `saved bytes are those that the origin did not send, and never negative`() {
    #expect(counts([.hit, .miss]).savedBytes == 12)
    #expect(counts([.miss], sent: 3, fetched: 8).savedBytes == 0)
    #expect(counts([.hit], sent: .max, fetched: 0).savedBytes == .max)
  }

  @Test func `spans are added up, and sums beyond 64 bits do not end the program`() {
    var sum = counts([.hit, .miss])
    sum += counts([.miss, .error], sent: .max, fetched: .max)
    #expect(sum.all == 4 && sum[.miss] == 2 && sum[.hit] == 1 && sum[.error] == 1)
    var cut = Sample.record(isComplete: false)
    cut.storingFailure = StoreError(.noSpace, path: "/", cause: "", remedy: "")
    var other = TrafficCounts()
    other.add(cut, (.miss, 0))
    other += other
    #expect(other.cutShort == 2 && other.notStored == 2)
  }

  @Test func `tunnels that have ended are no longer open`() {
    var tunnels = TunnelCounts()
    tunnels.began = 2
    #expect(tunnels.open == 2)
    for _ in 0..<3 {
      var record = Sample.record(bytes: 5)
      record.bytesReceived = 7
      tunnels.end(record)
    }
    #expect(tunnels.open == 0 && tunnels.ended == 3)
    #expect(tunnels.sentBytes == 15 && tunnels.receivedBytes == 21)
  }
}
