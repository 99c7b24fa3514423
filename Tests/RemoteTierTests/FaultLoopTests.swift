import CacheFormat
import ClientTesting
import Foundation
import Synchronization
import Testing

@testable import RemoteTier

/// Random faults in each transfer: no wrong byte may come out, whatever a server does.
///
/// `OFFLINECACHE_TEST_TRANSFERS` is the number of transfers with a fault, 20,000 by default.
@Suite(.timeLimit(.minutes(60)))
struct FaultLoopTests {
  private static let transfers =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_TRANSFERS"].flatMap { Int($0) } ?? 20_000

  /// Draws what happens, and counts the faults.
  private final class Dice: Sendable {
    private let state: Mutex<SplitMix64>
    let faults = Mutex(0)
    init(seed: UInt64) { state = Mutex(SplitMix64(seed: seed)) }
    func roll(_ sides: Int) -> Int { state.withLock { $0.below(sides) } }
  }

  private static func fault(_ dice: Dice) -> MemoryServer.Fault? {
    let kind = dice.roll(40)
    if kind < 7 { dice.faults.withLock { $0 += 1 } }
    return switch kind {
    case 0:
      .status([200, 204, 206, 301, 304, 404, 409, 412, 413, 429, 500, 503, 507][dice.roll(13)])
    case 1: .failure([.timeout, .connectionLost, .protocolViolation, .tls][dice.roll(4)])
    case 2: .cut(dice.roll(3000))
    case 3: .forget
    case 4:
      .change { bytes in
        var changed = bytes
        if !changed.isEmpty { changed[dice.roll(changed.count)] ^= UInt8(1 << dice.roll(8)) }
        return changed
      }
    case 5: .change { Array($0.prefix(dice.roll($0.count + 1))) }
    case 6: .change { $0 + $0.prefix(dice.roll(100)) }
    default: nil
    }
  }

  /// The only right bytes of a key, a kind and a version.
  private static func body(_ key: Int, _ kind: Int, _ version: Int) -> [UInt8] {
    var random = SplitMix64(seed: UInt64(key * 1000 + kind * 100 + version))
    let length = [0, 10, 900, 4097, 5000, 9000][random.below(6)]
    return Array("\(key)/\(kind)/\(version)/".utf8) + random.bytes(length)
  }

  @Test("no wrong byte comes out of faulted transfers", arguments: [1, 2, 3, 4] as [UInt64])
  func faults(seed: UInt64) async throws {
    let dice = Dice(seed: seed)
    let server = MemoryServer(isBazel: seed % 2 == 0, hasTags: seed < 3, keepsRequests: false)
    let time = TestClock()
    let machines = try (0..<3).map { _ in try Machine(server, time: time) }
    server.setFault { _ in Self.fault(dice) }
    var (step, hits, wrong, lost) = (0, 0, 0, 0)
    var strange: Set<RemoteReason> = []
    var memory: [Int] = []
    while true {
      step += 1
      let faults = dice.faults.withLock(\.self)
      if faults >= memory.count * Self.transfers / 16 { memory.append(Self.residentMegabytes()) }
      if faults >= Self.transfers / 4 { break }
      let machine = machines[dice.roll(3)]
      let (key, kind) = (dice.roll(50), dice.roll(2))
      let name = ByteString("GET http://a.test/\(key)")
      let selecting: [ByteString] = ["accept:\(kind)"]
      time.advance(bySeconds: Double(dice.roll(2000)) / 1000)
      if dice.roll(3) == 0 {
        let body = Self.body(key, kind, dice.roll(5))
        await machine.offer(name, body, selecting: selecting, received: Int64(step))
        continue
      }
      switch await machine.lookUp(name, selecting: selecting) {
      case .success(let bytes):
        hits += 1
        let isRight = (0..<5).contains { Self.body(key, kind, $0) == bytes }
        if !isRight { wrong += 1 }
      case .failure(let reason):
        if reason == .cancelled || reason == .busy { strange.insert(reason) }
        lost += machine.tier.statistics.misses.isEmpty ? 1 : 0
      }
    }
    #expect(wrong == 0, "seed \(seed)")
    #expect(lost == 0 && strange.isEmpty, "seed \(seed): \(strange)")
    #expect(hits > Self.transfers / 100, "seed \(seed): the loop finds something")
    // The first quarter fills what is bounded. Other tests run beside this one.
    #expect(memory.last ?? 0 <= 2 * memory[1] + 200, "seed \(seed): \(memory) MB")
    print("seed \(seed): \(step) look-ups and offers, \(hits) hits; resident: \(memory) MB")
  }

  /// Returns the memory that the process occupies; 0 where the kernel does not tell.
  private static func residentMegabytes() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first).flatMap { Int($0) }
      .map { $0 / 1000 } ?? 0
  }
}
