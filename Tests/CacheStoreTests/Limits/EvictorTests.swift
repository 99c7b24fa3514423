import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

@Suite struct EvictorTests {
  let sandbox = StoreSandbox()

  @Test func `bodies that are being written and damaged files do not count`() throws {
    let store = try sandbox.open()
    try store.put(TestBody.make(50_000, seed: 1), for: "a")
    let before = store.statistics.chargedBytes
    let writer = try store.makeWriter(for: "b")
    try writer.write(TestBody.make(500_000, seed: 2))
    #expect(store.statistics.chargedBytes == before)
    let own = Set(sandbox.bodies)
    try store.put(TestBody.make(50_000, seed: 3), for: "damaged")
    let body = try #require(sandbox.bodies.first { !own.contains($0) })
    sandbox.flip(body, at: 100)
    #expect(store.lookUp("damaged").entry == nil)
    store.waitUntilIdle()
    #expect(sandbox.quarantined.count == 1)
    #expect(store.statistics.chargedBytes == before)
    try store.setLimits(Limits(bytes: before))
    #expect(store.lookUp("a").entry != nil && store.statistics.evictions == 0)
  }
  private let files = FaultyFiles()

  private func body(_ count: Int, _ number: Int) -> [UInt8] {
    TestBody.make(count, seed: UInt64(number))
  }

  private func key(_ number: Int) -> ByteString { ByteString("k\(number)") }

  private func open(_ limits: Limits? = nil, entries: Int) throws -> Store {
    let store = try sandbox.open(Options(limits: limits, fileSystem: files))
    for number in 0..<entries { try store.put([UInt8(number)], for: key(number)) }
    return store
  }

  @Test func `nothing is evicted when the free bytes of the volume are not known`() throws {
    files.faults.availableBytes = 1 << 20 + 500_000
    let store = try open(Limits(freeBytes: 1 << 20), entries: 20)
    files.faults.set { $0.kind == .volume ? .inputOutput : nil }
    let error = #expect(throws: StoreError.self) {
      try store.put([UInt8](repeating: 1, count: 600_000), for: "large")
    }
    #expect(error?.code == .inputOutput)
    #expect(store.statistics.entries == 20)
    files.faults.set(nil)
    files.faults.availableBytes = nil
    try store.put([UInt8](repeating: 1, count: 600_000), for: "large")
    #expect(store.statistics.entries == 21)
  }

  @Test(arguments: 0..<4)
  func `nothing is evicted when one query of the volume fails`(failing: Int) throws {
    files.faults.availableBytes = 50 << 20
    let store = try open(Limits(freeBytes: 1 << 20), entries: 20)
    let count = Atomic<Int>(0)
    files.faults.set { call in
      guard call.kind == .volume else { return nil }
      return count.add(1, ordering: .relaxed).oldValue == failing ? .inputOutput : nil
    }
    // A staged body makes each query due.
    let writer = try? store.makeWriter(for: "large")
    try? writer?.write([UInt8](repeating: 1, count: 600_000))
    _ = try? writer?.commit()
    #expect(count.load(ordering: .relaxed) > 0)
    for number in 0..<20 { #expect(store.lookUp(key(number)).entry?.body == [UInt8(number)]) }
    files.faults.set(nil)
  }

  @Test(arguments: [EIO, EACCES])
  func `one shard that cannot be opened keeps no other from making room`(code: Int32) throws {
    let store = try open(Limits(entries: 20), entries: 20)
    func shard(_ number: Int) -> String {
      Layout.shard(Layout.shardNumber(of: store.catalog.hash(key(number)))).text
    }
    let broken = shard(0)
    files.faults.set { $0.kind == .open && $0.name == broken ? SystemError(code) : nil }
    for number in (20..<60) where shard(number) != broken {
      try store.put([UInt8(number)], for: key(number))
    }
    files.faults.set(nil)
    #expect(store.lookUp(key(0)).entry?.body == [0])
    #expect(store.statistics.entries <= 20)
  }

  @Test func `too few descriptors do not change the order of eviction`() throws {
    let store = try open(Limits(entries: 20), entries: 20)
    files.faults.set { $0.kind == .open ? SystemError(EMFILE) : nil }
    #expect(throws: StoreError.self) { try store.put([1], for: key(20)) }
    files.faults.set(nil)
    try store.put([1], for: key(30))
    #expect(!store.contains(key(0)) && store.contains(key(19)))
  }

  @Test func `entries go for their age although they are in use`() throws {
    let store = try open(entries: 20)
    files.faults.set { call in
      guard call.kind == .removeFile else { return nil }
      for number in 0..<20 { _ = store.lookUp(ByteString("k\(number)")) }
      return nil
    }
    #expect(try store.remove(createdBefore: .distantFuture) == 20)
    files.faults.set(nil)
  }

  @Test func `limits hold for entries with the greatest time of access`() throws {
    let store = try open(entries: 0)
    try store.catalog.writer.append { _ throws(StoreError) -> [[UInt8]] in
      (0..<3).map { number in
        let head = PutHead(
          keyHash: store.catalog.hash(key(number)), digest: Digest(high: 0, low: UInt64(number)),
          variant: 0, length: 1, created: .distantPast, accessed: .distantFuture, expires: nil,
          bodyFile: 1, overhead: 0, status: nil, isPinned: false)
        return PutRecord(head: head, key: key(number), metadata: EntryMetadata()).bytes
      }
    }
    #expect(store.statistics.entries == 3)
    try store.setLimits(Limits(entries: 1))
    #expect(store.statistics.entries == 1)
  }

  @Test func `setting limits evicts what is beyond them`() throws {
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(Options(clock: clock))
    for number in 0..<50 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    try store.setLimits(Limits(entries: 10))
    #expect(store.statistics.entries <= 10)
    #expect(store.contains("k49"))
    #expect(!store.contains("k20"))
    store.waitUntilIdle()
    #expect(store.statistics.evictions == 50 - UInt64(store.statistics.entries))
    #expect(sandbox.bodies.count == store.statistics.entries)
  }

  @Test func `the least recently accessed goes first`() throws {
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(Options(limits: Limits(entries: 40), clock: clock))
    for number in 0..<40 { try store.put([1], for: ByteString("k\(number)")) }
    _ = store.lookUp("k0")
    _ = store.read("k1")
    try store.update("k2") { $0.status = 1 }
    try store.put([2], for: "new")
    // k2 was changed, not accessed.
    #expect(!store.contains("k2"))
    for key: ByteString in ["k0", "k1", "new", "k39"] { #expect(store.contains(key)) }
  }

  @Test func `eviction goes on to the low-water mark in the background`() throws {
    let clock = SteppingClock(step: 1_000)
    let store = try sandbox.open(Options(limits: Limits(entries: 100), clock: clock))
    for number in 0..<101 { try store.put([1], for: ByteString("k\(number)")) }
    store.waitUntilIdle()
    // One more than the mark where the background was done before the last put was; one less where
    // both took one at the same moment.
    #expect((94...96).contains(store.statistics.entries))
    #expect(!store.contains("k4"))
    #expect(store.contains("k7"))
  }

  @Test func `a clock that goes back does not turn the order around`() throws {
    let clock = SteppingClock()
    let store = try sandbox.open(Options(limits: Limits(entries: 3), clock: clock))
    for key: ByteString in ["a", "b", "c"] {
      try store.put([1], for: key)
      clock.move(seconds: -3600)
    }
    _ = store.lookUp("a")
    try store.put([1], for: "d")
    #expect(Set(store.entries().map(\.key)) == ["a", "c", "d"])
    store.close()
    // Nor after opening again with a clock that is behind.
    clock.move(seconds: -36_000)
    let reopened = try sandbox.open(Options(clock: clock))
    _ = reopened.lookUp("c")
    try reopened.put([1], for: "e")
    #expect(Set(reopened.entries().map(\.key)) == ["c", "d", "e"])
    try reopened.put([1], for: "f")
    #expect(Set(reopened.entries().map(\.key)) == ["c", "e", "f"])
  }

  @Test func `another instance whose clock is behind does not evict what is new`() throws {
    let (early, late) = (SteppingClock(1_000_000_000_000), SteppingClock(9_000_000_000_000))
    let one = try sandbox.open(Options(limits: Limits(entries: 2), clock: late))
    let two = try sandbox.open(Options(clock: early))
    try one.put([1], for: "a")
    try one.put([1], for: "b")
    try two.put([1], for: "c")
    try two.put([1], for: "d")
    #expect(Set(two.entries().map(\.key)) == ["c", "d"])
  }

  @Test func `pinned entries are never evicted`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 1_000, entries: 5, accounting: .logical)))
    for number in 0..<2 {
      let key = ByteString("pinned\(number)")
      try store.put(body(200, number), for: key)
      try store.pin(key)
    }
    for number in 0..<60 { try store.put(body(150, 100 + number), for: ByteString("k\(number)")) }
    store.waitUntilIdle()
    _ = try store.trim(toBytes: 0)
    #expect(Set(store.entries().map(\.key)) == ["pinned0", "pinned1"])
    // Where all that is left is pinned, there is no room, and it is said.
    try store.setLimits(Limits(entries: 2))
    #expect(throws: failure(.noSpace, sandbox.root)) { try store.put([1], for: "k") }
    #expect(store.lookUp("pinned0").entry?.body == body(200, 0))
    try store.unpin("pinned0")
    try store.put([1], for: "k")
    #expect(Set(store.entries().map(\.key)) == ["pinned1", "k"])
  }

  @Test(arguments: [1, 19, 24, 40, 45, 46])
  func `a limit on entries keeps as many`(count: Int) throws {
    let store = try sandbox.open(Options(clock: SteppingClock(step: 1_000)))
    for number in 0..<45 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    try store.setLimits(Limits(entries: UInt64(count)))
    store.waitUntilIdle()
    #expect(store.statistics.entries == min(count, 45))
    #expect(store.lookUp("k44").entry != nil)
    store.close()
    let again = try sandbox.open(Options(limits: Limits(entries: UInt64(count))))
    again.waitUntilIdle()
    #expect(again.statistics.entries == min(count, 45))
  }

  @Test(arguments: [UInt64(10), 100, 200])
  func `a put at the limit leaves 95 percent of the entries`(limit: UInt64) throws {
    let store = try sandbox.open(
      Options(limits: Limits(entries: limit), clock: SteppingClock(step: 1_000)))
    for number in 0..<Int(limit) { try store.put([1], for: ByteString("k\(number)")) }
    store.waitUntilIdle()
    #expect(store.statistics.entries == Int(limit))
    try store.put([2], for: "one more")
    store.waitUntilIdle()
    #expect(store.statistics.entries == Int(limit - limit / 20))
  }

  /// Counts every entry as 100 bytes.
  private final class PerEntry: StoreSizeDelegate {
    func size(of statistics: Statistics) -> UInt64 { UInt64(statistics.entries) * 100 }
  }

  @Test func `a size delegate says what the byte limit is held against`() throws {
    let delegate = PerEntry()
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 1_000, accounting: .logical), sizeDelegate: delegate))
    for number in 0..<30 {
      try store.put(body(900, number), for: ByteString("k\(number)"))
      #expect(store.statistics.entries <= 10)
    }
    // The mark is 9; the caller and the background may each take one at the same moment.
    #expect(store.statistics.entries >= 7)
    #expect(store.statistics.logicalBytes >= 7 * 900)
    withExtendedLifetime(delegate) {}
  }
}
