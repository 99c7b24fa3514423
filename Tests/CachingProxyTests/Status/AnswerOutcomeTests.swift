import Testing

@testable import CachingProxy

@Suite struct AnswerOutcomeTests {
  @Test(
    arguments: [
      ("OfflineCache; hit; ttl=376", AnswerSource.memory, AnswerOutcome.hit),
      ("OfflineCache; hit", .disk, .hit),
      ("OfflineCache;hit;ttl=0", .disk, .hit),
      ("OfflineCache; hit; ttl=-412", .disk, .stale),
      ("OfflineCache; fwd=stale; fwd-status=503", .disk, .stale),
      ("OfflineCache; fwd=stale; fwd-status=304", .disk, .revalidated),
      ("OfflineCache; fwd=stale; fwd-status=304; detail=\"a, b; hit\"", .memory, .revalidated),
      ("OfflineCache; fwd=request; fwd-status=304", .disk, .revalidated),
      ("OfflineCache; fwd=stale; fwd-status=200; stored", .network, .miss),
      ("OfflineCache; fwd=uri-miss; stored", .network, .miss),
      ("OfflineCache; fwd=vary-miss", .network, .miss),
      ("OfflineCache; fwd=partial", .network, .miss),
      ("OfflineCache; fwd=method", .network, .bypass),
      ("OfflineCache; fwd=bypass", .network, .bypass),
      ("", .network, .bypass),
      ("", .memory, .hit),
      ("Upstream; hit, OfflineCache; fwd=uri-miss", .network, .miss),
      ("Upstream; fwd=miss; detail=\"\\\"; hit\", OfflineCache; hit", .disk, .hit),
      ("OfflineCache; hitting", .network, .bypass),
      ("; ; \"", .network, .bypass),
    ])
  func `An answer is counted by what the nearest cache says of it`(
    field: String, source: AnswerSource, expected: AnswerOutcome
  ) {
    #expect(Sample.record(field, source: source).account?.outcome == expected)
  }

  @Test(arguments: [(504, AnswerOutcome.error), (400, .error), (0, .error), (200, nil), (304, nil)])
  func `What the proxy makes itself is an error or does not count`(
    status: Int, expected: AnswerOutcome?
  ) {
    let record = Sample.record(status: status, "", source: .proxy)
    #expect(record.account?.outcome == expected)
  }

  @Test func `A status page that is not there does not count either`() {
    let url = "http://127.0.0.1:8080/.offlinecache/nothing"
    #expect(Sample.record(url: url, status: 404, "", source: .proxy).account == nil)
  }

  @Test(
    arguments: [
      (Sample.miss, AnswerSource.network, UInt64(100)),
      ("OfflineCache; fwd=uri-miss; collapsed", .network, 0),
      ("OfflineCache; hit", .memory, 0),
      ("OfflineCache; fwd=stale; fwd-status=304", .disk, 0),
      ("", .proxy, 0),
    ])
  func `Bytes count as fetched where the origin sent them for this answer`(
    field: String, source: AnswerSource, fetched: UInt64
  ) {
    let record = Sample.record(status: source == .proxy ? 502 : 200, field, source: source)
    #expect(record.account?.fetchedBytes == fetched)
  }
}
