import ClientTesting
import Foundation
import HTTPSemantics
import HTTPTransports
import RemoteTier
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
    let server = MemoryServer(keepsRequests: false)
    server.setFault { _ in .failure(.timeout) }
    let plain = try ClientSandbox(origin)
    let tiered = try TierMachine(origin, server, mode: .read)
    var times: ([Double], [Double]) = ([], [])
    for number in 0..<Self.count {
      times.0.append(
        try await microseconds { _ = try await plain.client.data(for: request("/\(number)")) })
      times.1.append(
        try await microseconds { _ = try await tiered.client.data(for: request("/\(number)")) })
    }
    show("a miss with the breaker open", times.0, times.1)
  }
}
