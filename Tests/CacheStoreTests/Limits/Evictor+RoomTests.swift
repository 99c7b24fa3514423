import CacheFormat
import CacheStore
import Synchronization
import TestSupport
import Testing

@Suite struct EvictorRoomTests {
  let sandbox = StoreSandbox()

  private func body(_ count: Int, _ number: Int) -> [UInt8] {
    TestBody.make(count, seed: UInt64(number))
  }

  @Test func `replacing an entry needs room for the difference only`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 10 << 20), clock: SteppingClock(step: 1_000)))
    try store.put(body(6_000_000, 1), for: "large")
    for number in 0..<30 { try store.put(body(100_000, number), for: ByteString("k\(number)")) }
    for version in 2..<6 { try store.put(body(6_000_000, version), for: "large") }
    store.waitUntilIdle()
    #expect(store.statistics.evictions == 0)
    #expect(store.statistics.entries == 31)
  }

  /// Finds the store too full once, while another process empties it.
  private final class Emptying: StoreSizeDelegate {
    private let other: Store
    private let isDue = Mutex(false)

    init(_ other: Store) { self.other = other }

    func makeDue() { isDue.withLock { $0 = true } }

    func size(of statistics: Statistics) -> UInt64 {
      let isNow = isDue.withLock { isDue in
        defer { isDue = false }
        return isDue
      }
      if !isNow { return 0 }
      #expect((try? other.trim(toBytes: 0)) == 5)
      return .max
    }
  }

  @Test func `what others evict meanwhile makes room, too`() throws {
    let other = try sandbox.open()
    for number in 0..<5 { try other.put(body(100, number), for: ByteString("k\(number)")) }
    let delegate = Emptying(other)
    let store = try sandbox.open(Options(limits: Limits(bytes: 1 << 20), sizeDelegate: delegate))
    delegate.makeDue()
    try store.put(body(100, 5), for: "k5")
    #expect(store.lookUp("k5").entry?.body == body(100, 5))
    #expect(store.statistics.entries == 1)
  }

  @Test func `an equal body under another key needs no room for the body`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 10 << 20), clock: SteppingClock(step: 1_000)))
    try store.put(body(9_000_000, 1), for: "a")
    try store.put(body(9_000_000, 1), for: "b")
    store.waitUntilIdle()
    #expect(store.statistics.evictions == 0)
    #expect(store.lookUp("a").entry?.body == body(9_000_000, 1))
  }

  @Test func `what is replaced is not evicted for its own successor`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 1 << 20), clock: SteppingClock(step: 1_000)))
    for number in 0..<8 { try store.put(body(100_000, number), for: ByteString("k\(number)")) }
    // The oldest is replaced by one for which another has to go.
    try store.put(body(250_000, 9), for: "k0")
    #expect(store.lookUp("k0").entry?.body == body(250_000, 9))
    #expect(store.lookUp("k1").entry == nil)
    #expect(store.lookUp("k3").entry?.body == body(100_000, 3))
  }

  @Test func `nothing is evicted for a body that has no room beside journal and pins`() throws {
    var options = Options(limits: Limits(bytes: 16 << 20, pinnedBytes: 6 << 20))
    options.settling = .within(seconds: 3_600)
    let store = try Store(at: sandbox.root, options: options)
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    // An eighth is set aside for the log.
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put(body(15 << 20, 1), for: "k3") }
    #expect(store.statistics.entries == 10 && store.statistics.evictions == 0)
    try store.put(body(5 << 20, 2), for: "pinned")
    try store.pin("pinned")
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put(body(10 << 20, 1), for: "k3") }
    #expect(throws: failure(.pinQuotaExceeded, sandbox.root)) {
      try store.put(body(7 << 20, 1), for: "pinned")
    }
    #expect(store.statistics.entries == 11 && store.statistics.evictions == 0)
    #expect(store.lookUp("k3").entry?.body == body(100, 3))
    try store.put(body(5 << 20, 1), for: "k3")
    #expect(store.statistics.entries == 11)
  }

  @Test func `the files of small pinned entries take room, too`() throws {
    let store = try sandbox.open(Options(limits: Limits(bytes: 16 << 20)))
    for number in 0..<60 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    var count = 0
    while store.statistics.chargedBytes < 14 << 20 {
      let key = ByteString("pinned\(count)")
      try store.put(body(100, count), for: key)
      try store.pin(key)
      count += 1
    }
    #expect(store.statistics.pinnedBytes < 200_000)
    // Also a body that would have room if those of pinned entries took no whole blocks.
    for length in [8 << 20, 9 << 19] {
      #expect(throws: failure(.noSpace, sandbox.root)) {
        try store.put(body(length, 1), for: "new")
      }
    }
    #expect(store.statistics.entries == 60 + count && store.statistics.evictions == 0)
  }

  @Test func `an equal body beside a pinned one has room`() throws {
    var options = Options(limits: Limits(bytes: 10 << 20, pinnedBytes: 6 << 20))
    options.settling = .within(seconds: 3_600)
    let store = try Store(at: sandbox.root, options: options)
    try store.put(body(5 << 20, 2), for: "pinned")
    try store.pin("pinned")
    try store.put(body(5 << 20, 2), for: "same")
    #expect(store.statistics.entries == 2 && store.statistics.sharedBytes > 0)
  }

  @Test func `logical bytes of pinned entries count in full although they share a body`() throws {
    let limits = Limits(bytes: 10_000, pinnedBytes: 8_000, accounting: .logical)
    let store = try sandbox.open(Options(limits: limits))
    for key: ByteString in ["pinned0", "pinned1"] {
      try store.put(body(3_000, 0), for: key)
      try store.pin(key)
    }
    for number in 1..<4 { try store.put(body(1_000, number), for: ByteString("k\(number)")) }
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put(body(5_000, 4), for: "new") }
    #expect(store.statistics.entries == 5 && store.statistics.evictions == 0)
    try store.put(body(4_000, 4), for: "new")
    #expect(store.lookUp("new").entry != nil && store.statistics.pinnedEntries == 2)
  }

  @Test func `an update is no access: at the limit, the oldest entry goes`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 1 << 20), clock: SteppingClock(step: 1_000)))
    var count = 0
    while store.statistics.chargedBytes < 1 << 20 - 60_000 {
      try store.put(body(40_000, count), for: ByteString("k\(count)"))
      count += 1
    }
    #expect(store.statistics.evictions == 0)
    let item = Field("a", ByteString(bytes: Array(repeating: 97, count: 100_000)))
    #expect(try store.update("k0") { $0.userInfo = [item] })
    #expect(!store.contains("k0") && store.contains("k1") && store.statistics.evictions == 1)
    #expect(try store.update("k9") { $0.userInfo = [item] })
    #expect(store.info(for: "k9")?.metadata.userInfo == [item])
    #expect(!store.contains("k1") && store.contains("k8"))
  }
}
