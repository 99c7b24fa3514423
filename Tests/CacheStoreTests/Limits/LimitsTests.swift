import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@Suite struct LimitsTests {
  let sandbox = StoreSandbox()

  private func body(_ count: Int, _ number: Int) -> [UInt8] {
    TestBody.make(count, seed: UInt64(number))
  }

  @Test(arguments: [
    Limits(bytes: 0), Limits(entries: 0), Limits(entryBytes: 0), Limits(bytes: 10, entryBytes: 11),
    Limits(bytes: 10, pinnedBytes: 11),
  ])
  func `limits that leave no room or contradict are refused`(limits: Limits) throws {
    let path = sandbox.root
    #expect(throws: failure(.invalidLimits, path)) {
      try Store(at: path, options: Options(limits: limits))
    }
    #expect(FileFacts(path) == nil)
    let store = try sandbox.open(Options(limits: Limits(entries: 3)))
    #expect(throws: failure(.invalidLimits, path)) { try store.setLimits(limits) }
    #expect(store.limits == Limits(entries: 3))
  }

  @Test func `limits are kept in the store and seen by all its users`() throws {
    let limits = Limits(
      bytes: 1 << 30, entries: 7, entryBytes: 1 << 20, freeBytes: 4096, pinnedBytes: 99,
      accounting: .logical)
    let store = try sandbox.open()
    #expect(store.limits == .none)
    let other = try sandbox.open()
    try store.setLimits(limits)
    #expect(other.limits == limits)
    store.close()
    other.close()
    let reopened = try sandbox.open()
    #expect(reopened.limits == limits)
    #expect(try sandbox.open(Options(isReadOnly: true)).limits == limits)
    try reopened.setLimits(.none)
    #expect(try sandbox.open().limits == .none)
  }

  @Test func `limits hold for what another instance stores`() throws {
    let one = try sandbox.open()
    let two = try sandbox.open()
    try one.setLimits(Limits(entries: 3))
    for number in 0..<10 {
      try two.put([1], for: ByteString("k\(number)"))
      #expect(one.statistics.entries <= 3)
    }
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

  @Test func `the quota for pinned bytes is kept`() throws {
    let store = try sandbox.open(
      Options(limits: Limits(bytes: 10_000, pinnedBytes: 500, accounting: .logical)))
    let path = sandbox.root
    try store.put(body(300, 1), for: "a")
    try store.put(body(300, 2), for: "b")
    try store.pin("a")
    #expect(throws: failure(.pinQuotaExceeded, path)) { try store.pin("b") }
    #expect(store.info(for: "b")?.isPinned == false)
    #expect(store.statistics.pinnedBytes == 300)
    #expect(throws: failure(.invalidLimits, path)) {
      try store.setLimits(Limits(bytes: 10_000, pinnedBytes: 299))
    }
    // Replacing a pinned body must not get round the quota.
    #expect(throws: failure(.pinQuotaExceeded, path)) { try store.put(body(501, 3), for: "a") }
    #expect(store.lookUp("a").entry?.body == body(300, 1))
    try store.put(body(500, 4), for: "a")
    #expect(store.statistics.pinnedBytes == 500)
    try store.unpin("a")
    try store.pin("b")
    #expect(store.statistics.pinnedBytes == 300)
  }

  @Test func `half of the bytes may be pinned where nothing is said`() throws {
    let store = try sandbox.open(Options(limits: Limits(bytes: 1_000, accounting: .logical)))
    try store.put(body(501, 1), for: "a")
    #expect(throws: failure(.pinQuotaExceeded, sandbox.root)) { try store.pin("a") }
    try store.put(body(500, 2), for: "a")
    #expect(try store.pin("a"))
  }

  @Test func `a body beyond the limit of one entry is refused and the old one stays`() throws {
    let store = try sandbox.open(Options(limits: Limits(entryBytes: 100)))
    try store.put(body(100, 1), for: "k")
    #expect(throws: failure(.entryTooLarge, sandbox.root)) { try store.put(body(101, 1), for: "k") }
    #expect(store.lookUp("k").entry?.body == body(100, 1))
    try store.setLimits(Limits(bytes: 50, accounting: .logical))
    #expect(throws: failure(.entryTooLarge, sandbox.root)) { try store.put(body(51, 1), for: "k") }
  }

  @Test func `a small store stays usable however often it is written`() throws {
    // The journal counts, too: what is dead in it must not crowd out the entries.
    let limit: UInt64 = 300_000
    let store = try sandbox.open(Options(limits: Limits(bytes: limit)))
    for number in 0..<3_000 {
      try store.put(body(100, number), for: ByteString("k\(number)"))
      #expect(store.statistics.allocatedBytes <= limit)
    }
    store.waitUntilIdle()
    #expect(store.statistics.entries >= 5)
    #expect(store.lookUp("k2999").entry?.body == body(100, 2999))
  }

  @Test(arguments: [Limits.Accounting.allocated, .logical], [UInt64(11), 12])
  func `the limits hold after every put`(accounting: Limits.Accounting, seed: UInt64) throws {
    print("seed \(seed)")
    var random = SplitMix64(seed: seed)
    let limits = Limits(
      bytes: 1_000_000, entries: 80, entryBytes: 100_000, accounting: accounting)
    let store = try sandbox.open(Options(limits: limits))
    for step in 0..<500 {
      let key = ByteString("k\(random.next() % 120)")
      let body = TestBody.make(
        Int(random.next() % (random.next() % 10 == 0 ? 100_000 : 20_000)),
        seed: random.next() % 3 == 0 ? 1 : UInt64(step))
      switch random.next() % 12 {
      case 0: _ = store.lookUp(key)
      case 1: try store.remove(key)
      case 2:
        do { try store.pin(key) } catch { #expect(error.code == .pinQuotaExceeded) }
      case 3: try store.unpin(key)
      case 4, 5:
        let writer = try store.makeWriter(for: key)
        try writer.write(body)
        do { try writer.commit() } catch { #expect(error.code == .pinQuotaExceeded) }
      default:
        do { try store.put(body, for: key) } catch { #expect(error.code == .pinQuotaExceeded) }
      }
      let now = store.statistics
      let used = accounting == .allocated ? now.allocatedBytes : now.logicalBytes
      #expect(used <= 1_000_000, "step \(step)")
      #expect(now.entries <= 80, "step \(step)")
      #expect(now.pinnedBytes <= 500_000, "step \(step)")
    }
    #expect(store.statistics.entries > 20)
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

  @Test func `free space is left to others`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(
        limits: Limits(freeBytes: 1 << 30), clock: SteppingClock(step: 1_000), fileSystem: files))
    let (full, roomy): (UInt64, UInt64) = (1 << 20, 1 << 40)
    files.faults.availableBytes = roomy
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    #expect(store.statistics.entries == 10)
    files.faults.availableBytes = full
    // What is known of the volume is asked anew after some megabytes at the latest.
    let large = body(17 << 20, 1)
    #expect(throws: failure(.noSpace, sandbox.root)) {
      for number in 0..<3 { try store.put(large, for: ByteString("large\(number)")) }
    }
    #expect(store.statistics.evictions >= 10)
    files.faults.availableBytes = roomy
    try store.put([1], for: "k")
    #expect(store.lookUp("k").entry?.body == [1])
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

  @Test func `an equal body beside a pinned one has room`() throws {
    var options = Options(limits: Limits(bytes: 10 << 20, pinnedBytes: 6 << 20))
    options.settling = .within(seconds: 3_600)
    let store = try Store(at: sandbox.root, options: options)
    try store.put(body(5 << 20, 2), for: "pinned")
    try store.pin("pinned")
    try store.put(body(5 << 20, 2), for: "same")
    #expect(store.statistics.entries == 2 && store.statistics.sharedBytes > 0)
  }

  @Test(arguments: [UInt64(0), 1 << 20])
  func `a body that is on the disk already does not count against the free bytes`(
    free: UInt64
  ) throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: free), fileSystem: files))
    for number in 0..<10 { try store.put(body(1_000_000, number), for: ByteString("k\(number)")) }
    let writer = try store.makeWriter(for: "long")
    try writer.write(body(8 << 20, 1))
    files.faults.availableBytes = 4 << 20
    try writer.commit()
    #expect(store.statistics.entries == 11 && store.statistics.evictions == 0)
  }

  @Test(arguments: [UInt64(0), 100_000])
  func `nothing is evicted for a body that the volume cannot hold`(free: UInt64) throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(limits: Limits(freeBytes: free), fileSystem: files))
    for number in 0..<10 { try store.put(body(100, number), for: ByteString("k\(number)")) }
    files.faults.availableBytes = 200_000
    files.faults.set { $0.kind == .write ? SystemError(ENOSPC) : nil }
    let error = #expect(throws: StoreError.self) { try store.put(body(17 << 20, 1), for: "k") }
    #expect(error?.code == .noSpace)
    #expect(throws: StoreError.self) { try store.checkBodyLength(17 << 20) }
    files.faults.set(nil)
    try store.checkBodyLength(100_000)
    #expect(store.statistics.entries == 10 && store.statistics.evictions == 0)
  }

  @Test func `at a quota, which the volume does not tell, entries go for a new one`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    for number in 0..<20 { try store.put(body(40_000, number), for: ByteString("k\(number)")) }
    let room = Atomic<Int>(0)
    files.faults.set { call in
      if call.kind == .removeFile { room.add(10, ordering: .relaxed) }
      guard call.takesRoom else { return nil }
      return room.subtract(1, ordering: .relaxed).newValue < 0 ? SystemError(EDQUOT) : nil
    }
    #expect(try store.remove("k0") == 1)
    room.store(0, ordering: .relaxed)
    #expect(try store.pin("k1"))
    room.store(0, ordering: .relaxed)
    try store.put(body(40_000, 20), for: "new")
    files.faults.set(nil)
    #expect(store.statistics.evictions > 0 && store.statistics.entries > 2)
    #expect(store.lookUp("k1").entry?.body == body(40_000, 1))
    #expect(store.lookUp("new").entry?.body == body(40_000, 20))
  }

  @Test func `a volume that cannot be asked is no crash`() async {
    await #expect(processExitsWith: .success) {
      let sandbox = StoreSandbox()
      let files = FaultyFiles()
      let store = try sandbox.open(Options(limits: Limits(freeBytes: 1), fileSystem: files))
      files.faults.set { $0.kind == .volume ? .inputOutput : nil }
      for number in 0..<3 {
        // Refused or not: it must not trap.
        do throws(StoreError) { try store.put([1, 2, 3], for: ByteString("k\(number)")) } catch {
          #expect(error.code == .noSpace || error.code == .inputOutput)
        }
      }
      files.faults.set(nil)
      try store.put([1], for: "k")
      #expect(store.lookUp("k").entry?.body == [1])
    }
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
