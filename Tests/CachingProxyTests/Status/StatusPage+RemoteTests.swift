import CacheFormat
import ClientTesting
import Foundation
import RemoteTier
import Testing

@testable import CachingProxy

/// The numbers of a second tier on the status pages.
@Suite struct StatusPageRemoteTests {
  @Test func `Without a tier the page has none, and the report says null`() throws {
    let tested = try StatusUnderTest()
    #expect(try tested.report()["remote"] is NSNull)
    #expect(!tested.text("/.offlinecache/").contains("The second tier"))
  }

  @Test func `Look-ups are counted by reason, and each server has a state`() async throws {
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer("http://cache.test/<a>")], secret: Array("0123456789abcdef".utf8))
    let server = MemoryServer()
    let tier = RemoteCache(options: options, transport: server)
    _ = try? await tier.lookUp("a") { _ in .success(0) }
    server.setFault { _ in .status(401) }
    _ = try? await tier.lookUp("b") { _ in .success(0) }
    let tested = try StatusUnderTest(remote: tier)
    let remote = try #require(try tested.report()["remote"] as? [String: Any])
    #expect(
      remote.keys.sorted() == [
        "hits", "misses", "newest_purge", "offers_dropped", "offers_failed", "offers_stored",
        "offers_waiting", "read_bytes", "servers", "written_bytes",
      ])
    let misses = try #require(remote["misses"] as? [[String: Any]])
    #expect(misses.map { $0["reason"] as? String } == ["remote-absent", "remote-refused"])
    let page = tested.text("/.offlinecache/")
    #expect(page.contains("0 of 2 look-ups found a response"))
    #expect(page.contains("http://cache.test/%3Ca%3E/"))
    #expect(page.contains("switched off: the credentials were refused"))
  }
}
