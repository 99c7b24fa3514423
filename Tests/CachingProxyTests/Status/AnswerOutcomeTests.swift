import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite struct AnswerOutcomeTests {
  @Test(
    arguments: [
      (Sample.hit(ttl: 376) as CacheStatus?, AnswerSource.memory, AnswerOutcome.hit),
      (Sample.hit(ttl: nil), .disk, .hit),
      (Sample.hit(ttl: 0), .disk, .hit),
      (Sample.hit(ttl: -412), .disk, .stale),
      (Sample.forwarded(.stale, 503), .disk, .stale),
      (Sample.forwarded(.stale, 304), .memory, .revalidated),
      (Sample.forwarded(.request, 304), .disk, .revalidated),
      (Sample.forwarded(.stale, 200), .network, .miss),
      (Sample.miss, .network, .miss),
      (Sample.forwarded(.varyMiss), .network, .miss),
      (Sample.forwarded(.partial), .network, .miss),
      (Sample.forwarded(.method), .network, .bypass),
      (Sample.forwarded(.bypass), .network, .bypass),
      (nil, .network, .bypass),
      (nil, .memory, .hit),
      (CacheStatus(cacheName: "OfflineCache"), .network, .bypass),
    ])
  func `An answer is counted by what the cache says of it`(
    status: CacheStatus?, source: AnswerSource, expected: AnswerOutcome
  ) {
    #expect(Sample.record(status, source: source).account?.outcome == expected)
  }

  @Test(arguments: [(504, AnswerOutcome.error), (400, .error), (0, .error), (200, nil), (304, nil)])
  func `What the proxy makes itself is an error or does not count`(
    status: Int, expected: AnswerOutcome?
  ) {
    let record = Sample.record(status: status, nil, source: .proxy)
    #expect(record.account?.outcome == expected)
  }

  @Test func `A status page that is not there does not count either`() {
    let record = Sample.record(
      url: "/.offlinecache/nothing", status: 404, nil, source: .proxy)
    #expect(record.account == nil)
  }

  @Test func `An error counts though the URL names a status page elsewhere`() {
    for path in ["/.offlinecache/b", "/a/.offlinecache/b", "/?from=/.offlinecache/"] {
      let record = Sample.record(
        url: "http://example.org\(path)", status: 504, nil, source: .proxy)
      #expect(record.account?.outcome == .error)
    }
  }

  @Test(
    arguments: [
      (Sample.miss as CacheStatus?, AnswerSource.network, UInt64(100)),
      (Sample.forwarded(.uriMiss, isCollapsed: true), .network, 0),
      (Sample.hit(ttl: nil), .memory, 0),
      (Sample.forwarded(.stale, 304), .disk, 0),
      (nil, .proxy, 0),
    ])
  func `Bytes count as fetched where the origin sent them for this answer`(
    said: CacheStatus?, source: AnswerSource, fetched: UInt64
  ) {
    let record = Sample.record(status: source == .proxy ? 502 : 200, said, source: source)
    #expect(record.account?.fetchedBytes == fetched)
  }
}
