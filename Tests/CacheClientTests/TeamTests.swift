import ClientTesting
import Foundation
import Synchronization
import Testing

@testable import CacheClient

/// Three machines of a team that fetch the same resources.
///
/// `OFFLINECACHE_TEST_REQUESTS` is the number of requests, 1,000 by default.
@Suite(.timeLimit(.minutes(30)))
struct TeamTests {
  private static let count =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_REQUESTS"].flatMap { Int($0) } ?? 1_000

  private static func body(_ target: String) -> [UInt8] {
    var seed: UInt64 = 5
    for byte in target.utf8 { seed = seed &* 31 &+ UInt64(byte) }
    var random = SplitMix64(seed: seed)
    let length = [0, 300, 2_000, 10_000, 70_000][random.below(5)]
    return random.bytes(length + random.below(100))
  }

  /// Draws what goes wrong with a request to the tier.
  private static func fault(_ random: borrowing Mutex<SplitMix64>) -> MemoryServer.Fault? {
    let (kind, number) = random.withLock { ($0.below(20), $0.below(1 << 16)) }
    switch kind {
    case 0: return .status([200, 302, 404, 412, 413, 500, 503, 507][number % 8])
    case 1: return .failure([.timeout, .connectionLost, .protocolViolation][number % 3])
    case 2: return .cut(number % 3000)
    case 3: return .forget
    case 4:
      return .change { bytes in
        var changed = bytes
        if !changed.isEmpty { changed[number % changed.count] ^= 1 << UInt8(number % 8) }
        return changed
      }
    case 5: return .change { Array($0.prefix(number % ($0.count + 1))) }
    default: return nil
    }
  }

  @Test(
    "whatever the tier does, each request gets the right answer",
    arguments: 1...3 as ClosedRange<UInt64>)
  func faults(seed: UInt64) async throws {
    let versions = Mutex<[String: Int]>([:])
    let origin = ScriptedTransport { request in
      let target = request.url.target
      // Of each target there are versions, and an answer is fresh until there is the next one.
      let version = versions.withLock { $0[target] ?? 0 }
      return .success(
        ScriptedTransport.Answer(
          [Self.body("\(target) \(version)")], fields: fresh(10_000, vary: "Prefer")))
    }
    let server = MemoryServer(
      isBazel: seed % 2 == 0, hasTags: seed % 3 != 0, keepsRequests: false)
    let dice = Mutex(SplitMix64(seed: seed))
    server.setFault { _ in Self.fault(dice) }
    let machines = try (0..<3).map { _ in try TierMachine(origin, server) }
    var random = SplitMix64(seed: seed + 100)
    for _ in 0..<Self.count {
      let target = "/\(random.below(max(10, Self.count / 5)))"
      let machine = machines[random.below(3)]
      let asked = request(target, [HTTPField("Prefer", "\(random.below(2))")])
      let bytes = try await machine.client.data(for: asked).bytes
      let newest = versions.withLock { $0[target] ?? 0 }
      #expect((0...newest).contains { Self.body("\(target) \($0)") == bytes }, "seed \(seed)")
      if random.below(10) == 0 { versions.withLock { $0[target, default: 0] += 1 } }
      if random.below(3) == 0 { await machine.client.waitForBackground() }
    }
    for machine in machines { await machine.client.waitForBackground() }
    let hits = machines.reduce(0) { $0 + $1.tier.statistics.hits }
    print("seed \(seed): \(Self.count) requests beside faults, \(hits) from the tier")
  }

  @Test("the origin sees each resource once where offers are drained, else once a machine at most")
  func team() async throws {
    for drains in [true, false] {
      let asked = Mutex<[String: Int]>([:])
      let origin = ScriptedTransport { request in
        let target = request.url.target
        asked.withLock { $0[target, default: 0] += 1 }
        return .success(ScriptedTransport.Answer([Self.body(target)], fields: fresh(10_000)))
      }
      let server = MemoryServer(isBazel: true, keepsRequests: false)
      let machines = try (0..<3).map { _ in try TierMachine(origin, server) }
      var random = SplitMix64(seed: 11)
      for _ in 0..<Self.count {
        let target = "/\(random.below(max(10, Self.count / 5)))"
        let machine = machines[random.below(3)]
        let bytes = try await machine.client.data(for: request(target)).bytes
        #expect(bytes == Self.body(target))
        if drains { await machine.client.waitForBackground() }
      }
      let counts = asked.withLock { $0.values.map(\.self) }
      #expect(counts.allSatisfy { $0 <= (drains ? 1 : 3) })
      let hits = machines.map(\.tier.statistics.hits)
      #expect(hits.allSatisfy { $0 > 0 })
      print(
        "\(Self.count) requests, drained: \(drains): \(counts.count) resources, "
          + "\(counts.reduce(0, +)) at the origin, \(hits.reduce(0, +)) from the tier")
    }
  }
}
