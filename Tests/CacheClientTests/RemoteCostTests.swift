import ClientTesting
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import LoopbackOrigin
import NginxOrigin
import RemoteTier
import TestSupport
import Testing

@testable import CacheClient

/// Measures; asserts nothing about time. `OFFLINECACHE_TEST_COST` is the number of requests, 0 by
/// default.
@Suite(.serialized)
struct RemoteCostTests {
  private static let count =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_COST"].flatMap { Int($0) } ?? 0

  private func microseconds(_ work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    return Double(start.duration(to: .now).components.attoseconds) / 1e12
  }

  private func show(_ name: String, _ plain: [Double], _ tiered: [Double]) {
    func text(_ times: [Double]) -> String {
      let sorted = times.sorted()
      return "median \(sorted[sorted.count / 2]) us, p99 \(sorted[sorted.count * 99 / 100]) us"
    }
    print("\(name): without a tier \(text(plain)); with one \(text(tiered))")
  }

  @Test(
    "a hit in the store, with and without a tier",
    .enabled(if: count > 0, "OFFLINECACHE_TEST_COST is not set"))
  func localHits() async throws {
    let origin = ScriptedTransport(ScriptedTransport.Answer([content(4096)], fields: fresh()))
    let plain = try ClientSandbox(origin)
    let tiered = try TierMachine(origin, MemoryServer(keepsRequests: false))
    _ = await plain.outcome(request())
    try await tiered.fetch(request())
    var times: ([Double], [Double]) = ([], [])
    for _ in 0..<Self.count {
      times.0.append(
        try await microseconds { _ = try await plain.client.data(for: request()) })
      times.1.append(
        try await microseconds { _ = try await tiered.client.data(for: request()) })
    }
    show("a local hit of 4 KB", times.0, times.1)
  }

  @Test(
    "a miss while the breaker is open, and without a tier",
    .enabled(if: count > 0, "OFFLINECACHE_TEST_COST is not set"))
  func misses() async throws {
    let origin = ScriptedTransport(
      ScriptedTransport.Answer([content(4096)], fields: [HTTPField("Cache-Control", "no-store")]))
    let hanging = try LoopbackOrigin { (_: OriginRequest, connection: OriginConnection) in
      connection.waitForClose()
    }
    let plain = try ClientSandbox(origin)
    let tiered = try TierMachine(
      origin, try CurlTransport(NetworkSetup(proxy: .none)), base: hanging.base, mode: .read)
    while tiered.tier.statistics.servers.first?.reading == "closed" {
      _ = try await tiered.client.data(for: request("/first"))
    }
    var times: ([Double], [Double]) = ([], [])
    for number in 0..<Self.count {
      times.0.append(
        try await microseconds { _ = try await plain.client.data(for: request("/\(number)")) })
      times.1.append(
        try await microseconds { _ = try await tiered.client.data(for: request("/\(number)")) })
    }
    show("a miss beside a server that hangs, with the breaker open", times.0, times.1)
    hanging.stop()
  }

  @Test(
    "a remote hit of 4 KB, stored here, beside two plain requests on kept connections",
    .enabled(if: count > 0 && NginxOrigin.isInstalled, "OFFLINECACHE_TEST_COST is not set"))
  func remoteHits() async throws {
    let server = try await NginxOrigin(
      """
      server { listen PORT0; keepalive_requests 1000000;
        location / { root FOLDER/site; dav_methods PUT; create_full_put_path on; } }
      """, in: TemporaryFolder())
    let base = server.address(scheme: "http", host: "127.0.0.1")
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let origin = ScriptedTransport(ScriptedTransport.Answer([content(4096)], fields: fresh()))
    let (one, two) = (
      try TierMachine(origin, transport, base: base), try TierMachine(origin, transport, base: base)
    )
    for number in 0..<Self.count { try await one.fetch(request("/\(number)")) }
    let asked = origin.requests.count
    let site = server.folder.appending(path: "site").path
    let objects = try FileManager.default.subpathsOfDirectory(atPath: site)
    let urls = try ["ac/", "cas/"].map { folder in
      try NormalizedURL(base + #require(objects.first { $0.hasPrefix(folder) }))
    }
    var (plain, hits): ([Double], [Double]) = ([], [])
    for number in 0..<Self.count {
      plain.append(
        try await microseconds {
          for url in urls {
            let response = try await transport.send(HTTPRequest(url: url))
            while try await response.body.next() != nil {}
          }
        })
      hits.append(
        try await microseconds { _ = try await two.client.data(for: request("/\(number)")) })
    }
    #expect(origin.requests.count == asked)
    let (pair, hit) = (plain.sorted()[Self.count / 2], hits.sorted()[Self.count / 2])
    print("two plain GETs: \(pair) us, a remote hit of 4 KB: \(hit) us, ratio \(hit / pair)")
  }
}
