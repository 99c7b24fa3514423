import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Synchronization
import Testing

/// Stores that are open elsewhere are told from damaged ones: nothing is found while others store,
/// replace, remove, remove all, evict and compact.
///
/// The writers have stores of their own; their locks exclude each other and the check as those of
/// other processes do.
@Suite(.serialized) struct BesideWritersTests {
  private static let rounds = 12

  /// Changes the store until it is told to end.
  private static func hammer(_ path: String, seed: Int, _ isDone: @Sendable () -> Bool) {
    guard
      let store = try? Store(
        at: path, options: Options(limits: Limits(entries: 150)))
    else { return }
    var random = UInt64(seed)
    while !isDone() {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let choice = random >> 33
      let key = ByteString("key \(choice % 200)")
      switch choice / 200 % 40 {
      case 0: try? store.removeAll()
      case 1..<8: _ = try? store.remove(key)
      case 8..<10: _ = try? store.pin(key)
      case 10..<12: _ = try? store.unpin(key)
      case 12..<16:
        _ = try? store.update(key) {
          $0.userInfo = [Field("x", ByteString(bytes: [UInt8](repeating: 65, count: 3000)))]
        }
      case 16..<24:
        // Bodies that many share.
        _ = try? store.put([UInt8](repeating: UInt8(choice % 3), count: 70), for: key)
      default:
        _ = try? store.put(
          [UInt8](repeating: UInt8(truncatingIfNeeded: choice), count: Int(choice % 9000)),
          for: key, variant: choice % 2)
      }
    }
    store.close()
  }

  @Test func `nothing is found beside writers`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1], for: "a") }
    let running = Monitor(3)
    let stopping = Stopping()
    for seed in 1...3 {
      let path = sandbox.root
      try startThread {
        Self.hammer(path, seed: seed) { stopping.isSet }
        running.change { $0 -= 1 }
      }
    }
    defer {
      stopping.set()
      running.wait { $0 == 0 ? () : nil }
    }
    for round in 0..<Self.rounds {
      let checked = try sandbox.check(round % 2 == 0 ? .quick : .deep, jobs: 2)
      #expect(checked.findings == [])
      if !checked.findings.isEmpty { return }
    }
  }
}

/// Set when threads are to end.
private final class Stopping: Sendable {
  private let flag = Atomic<Bool>(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
