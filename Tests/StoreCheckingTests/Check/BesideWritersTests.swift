import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Synchronization
import TestSupport
import Testing

/// Stores that are open elsewhere are told from damaged ones: nothing is found while others store,
/// replace, remove, remove all, evict and compact.
///
/// The writers have stores of their own; their locks exclude each other and the check as those of
/// other processes do.
@Suite(.serialized) struct BesideWritersTests {
  private static let rounds = 12

  /// Changes the store until it is told to end; returns how many bodies it has stored.
  private static func hammer(_ path: String, seed: Int, _ isDone: @Sendable () -> Bool) -> Int {
    guard
      let store = try? Store(
        at: path, options: Options(limits: Limits(entries: 150)))
    else { return 0 }
    var random = SplitMix64(seed: UInt64(seed))
    var count = 0
    func put(_ body: [UInt8], _ key: ByteString, _ variant: UInt64 = 0) {
      if (try? store.put(body, for: key, variant: variant)) != nil { count += 1 }
    }
    while !isDone() {
      let choice = random.next() >> 33
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
        put([UInt8](repeating: UInt8(choice % 3), count: 70), key)
      default:
        let byte = UInt8(truncatingIfNeeded: choice)
        put([UInt8](repeating: byte, count: Int(choice % 9000)), key, choice % 2)
      }
    }
    store.close()
    return count
  }

  @Test func `nothing is found beside writers`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1], for: "a") }
    let running = Monitor(3)
    let stored = Mutex<[Int]>([])
    let stopping = Stopping()
    for seed in 1...3 {
      let path = sandbox.root
      try startThread {
        let count = Self.hammer(path, seed: seed) { stopping.isSet }
        stored.withLock { $0.append(count) }
        running.change { $0 -= 1 }
      }
    }
    defer {
      stopping.set()
      running.wait { $0 == 0 ? () : nil }
      #expect(stored.withLock { $0.count == 3 && !$0.contains(0) })
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
