import CacheFormat
import CacheStore
import Foundation
import SimulatedFiles
import TestSupport
import Testing

/// Counts entries in place of bytes.
private final class EntryCounter: StoreSizeDelegate {
  func size(of statistics: Statistics) -> UInt64 { UInt64(statistics.entries) }
}

@Suite struct LimitsTests {
  let sandbox = StoreSandbox()

  private func body(_ count: Int, _ number: Int) -> [UInt8] {
    TestBody.make(count, seed: UInt64(number))
  }

  @Test(arguments: [
    Limits(bytes: 0), Limits(entries: 0), Limits(entryBytes: 0),
    Limits(bytes: 0, accounting: .logical),
    Limits(bytes: 10, entryBytes: 11, accounting: .logical),
    Limits(bytes: 10, pinnedBytes: 11, accounting: .logical),
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

  @Test(arguments: [(UInt64(512), UInt64(5_632)), (4_096, 16_384), (65_536, 229_376)])
  func `the least byte limit holds an entry`(blockBytes: UInt64, least: UInt64) throws {
    let (path, files) = (sandbox.root, FaultyFiles())
    files.faults.blockBytes = blockBytes
    let options = Options(fileSystem: files)
    let refusal = #expect(throws: StoreError.self) {
      var options = options
      options.limits = Limits(bytes: least - 1)
      _ = try Store(at: path, options: options)
    }
    #expect(refusal?.code == .invalidLimits)
    #expect(
      refusal?.remedy == "give at least \(least) with blocks of \(blockBytes) bytes, or none")
    let store = try sandbox.open(options)
    #expect(throws: failure(.invalidLimits, path)) {
      try store.setLimits(Limits(bytes: least - 1))
    }
    #expect(store.limits == .none)
    try store.setLimits(Limits(bytes: least))
    let body = body(Int(min(blockBytes, 4_096)), 1)
    try store.put(body, for: "k")
    #expect(store.lookUp("k").entry?.body == body)
  }

  @Test func `a byte limit that the store has stays valid`() throws {
    let small = Limits(bytes: 100)
    let counter = EntryCounter()
    try sandbox.open(Options(limits: small, sizeDelegate: counter)).close()
    let store = try sandbox.open(Options(limits: small))
    #expect(try sandbox.open(Options(limits: small, isReadOnly: true)).limits == small)
    #expect(try sandbox.open(Options(limits: Limits(bytes: 9), isReadOnly: true)).limits == small)
    let other = Limits(bytes: 100, entries: 3)
    try store.setLimits(other)
    #expect(store.limits == other)
    #expect(throws: failure(.invalidLimits, sandbox.root)) {
      try store.setLimits(Limits(bytes: 101))
    }
    let logical = Limits(bytes: 100, accounting: .logical)
    try store.setLimits(logical)
    #expect(throws: failure(.invalidLimits, sandbox.root)) { try store.setLimits(small) }
    #expect(store.limits == logical)
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

  @Test func `a whole volume cannot stay free`() throws {
    let store = try sandbox.open()
    let path = sandbox.root
    try store.put([1], for: "k")
    let size = try #require(
      FileManager.default.attributesOfFileSystem(forPath: path)[.systemSize] as? UInt64)
    #expect(throws: failure(.invalidLimits, path)) {
      try store.setLimits(Limits(freeBytes: size))
    }
    #expect(store.limits == .none)
    #expect(store.lookUp("k").entry?.body == [1])
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
      try store.setLimits(Limits(bytes: 20_000, pinnedBytes: 299))
    }
    try store.put(body(1, 2), for: "c")
    try store.pin("c")
    #expect(throws: failure(.invalidLimits, path)) { try store.setLimits(Limits(entries: 1)) }
    try store.remove("c")
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
}
