import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import HTTPSemantics
import RemoteTier
import Synchronization
import TestSupport

@testable import CachingProxy

/// Answers that tests are made of.
enum Sample {
  /// 2026-11-20T23:00:00Z.
  static let second: Int64 = 1_795_215_600
  static var clock: TestClock { TestClock(second * 1_000_000_000) }

  static func record(
    at second: Int64 = Sample.second, method: String = "GET", url: String = "http://origin.test/a",
    status: Int = 200, bytes: UInt64 = 100, microseconds: UInt64 = 50,
    _ cacheStatus: CacheStatus? = Sample.hit(ttl: 60), source: AnswerSource = .memory,
    reason: String = "", isComplete: Bool = true
  ) -> AnswerRecord {
    AnswerRecord(
      time: Timestamp(nanoseconds: second * 1_000_000_000), clientAddress: "127.0.0.1",
      method: method, url: url, status: status, bytesSent: bytes, microseconds: microseconds,
      cacheStatus: cacheStatus, source: source, reason: reason, isComplete: isComplete)
  }

  static func hit(ttl: Int64?) -> CacheStatus {
    var status = CacheStatus(cacheName: "OfflineCache", isHit: true)
    status.ttl = ttl
    return status
  }

  static let miss = forwarded(.uriMiss)

  static func forwarded(
    _ reason: CacheStatus.Forward, _ status: Int? = nil, isCollapsed: Bool = false
  ) -> CacheStatus {
    var forwarded = CacheStatus(cacheName: "OfflineCache", forward: reason)
    forwarded.forwardStatus = status
    forwarded.isCollapsed = isCollapsed
    return forwarded
  }

  static func facts(
    origin: String? = "http://origin.test", isShared: Bool = true, isOffline: Bool = false
  ) -> ProxyFacts {
    ProxyFacts(
      isShared: isShared, origin: origin, isOffline: isOffline, address: "http://127.0.0.1:8080")
  }
}

/// A store in a directory of its own, which goes away with it, and its status.
final class StatusUnderTest {
  private let folder = TemporaryFolder()
  let store: Store
  let clock: TestClock
  let status: ProxyStatus

  init(
    facts: ProxyFacts = Sample.facts(), limits: Limits? = nil, clock: TestClock = Sample.clock,
    remote: RemoteCache? = nil
  ) throws {
    store = try Store(at: folder.path, options: Options(limits: limits))
    self.clock = clock
    status = ProxyStatus(
      store: store, facts: facts, clock: clock,
      patienceNanoseconds: 60_000_000_000, remote: { remote?.statistics },
      forget: { [store] prefix throws(StoreError) in try store.remove(prefix: prefix) })
  }

  deinit {
    status.stop()
    store.close()
  }

  var path: String { folder.path }

  func put(_ url: String, length: Int, type: String? = "text/html") throws {
    let fields = type.map { [Field(ByteString("content-TYPE"), ByteString($0))] } ?? []
    try store.put(
      Array(repeating: 7, count: length), for: ByteString("GET \(url)"),
      metadata: EntryMetadata(status: 200, fields: fields))
  }

  /// The text of a page; empty where there is none.
  func text(_ path: String, refusedHosts: [String] = []) -> String {
    let page = status.answer(path: path, query: "", refusedHosts: refusedHosts)
    return page.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
  }

  /// The report as JSON, read by another reader than the one that wrote it.
  func report(refusedHosts: [String] = []) throws -> [String: Any] {
    let text = text("/.offlinecache/status", refusedHosts: refusedHosts)
    let read = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return read as? [String: Any] ?? [:]
  }
}
