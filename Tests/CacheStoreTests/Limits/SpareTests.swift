import CacheFormat
import CacheStore
import CacheSystem
import TestSupport
import Testing

/// Entries with the tag `spare` have a quarter of the store when something has to go.
@Suite struct SpareTests {
  let sandbox = StoreSandbox()
  private let spare = EntryMetadata(tags: [EntryMetadata.spareTag])

  private func keys(_ store: Store, _ prefix: String) -> [String] {
    store.entries().map { String(decoding: $0.key.bytes, as: UTF8.self) }
      .filter { $0.hasPrefix(prefix) }.sorted()
  }

  private func open(_ limits: Limits) throws -> Store {
    try sandbox.open(Options(limits: limits, clock: SteppingClock(step: 1_000)))
  }

  /// Stores entries `PREFIX10` to `PREFIX10+count`.
  private func put(
    _ count: Int, _ prefix: String, _ metadata: EntryMetadata, in store: Store, firstSeed: Int = 0
  ) throws {
    for number in 10..<10 + count {
      try store.put(
        TestBody.make(100, seed: UInt64(firstSeed + number)), for: ByteString("\(prefix)\(number)"),
        metadata: metadata)
      // Each step of the share is exact only if nothing is evicted at the same time.
      store.waitUntilIdle()
    }
  }

  @Test func `others make room for a new version of the only spare entry`() throws {
    let store = try open(Limits(bytes: 16 << 20))
    try store.put(TestBody.make(3_500_000, seed: 1), for: "spare", metadata: spare)
    var count = 0
    while store.statistics.chargedBytes < 16_300_000 {
      try store.put(TestBody.make(200_000, seed: UInt64(count)), for: ByteString("k\(count)"))
      count += 1
    }
    #expect(store.statistics.evictions == 0)
    let body = TestBody.make(4_190_000, seed: 2)
    try store.put(body, for: "spare", metadata: spare)
    #expect(store.lookUp("spare").entry?.body == body)
    #expect(store.statistics.evictions > 0 && keys(store, "k").count > count / 2)
  }

  @Test(arguments: [
    Limits(entries: 40), Limits(bytes: 4_000, accounting: .logical),
    Limits(bytes: 40 * 12_288 + 200_000),
  ])
  func `spare entries push out others only up to their share`(limits: Limits) throws {
    // An entry in the log is counted with estimates. With files, and bodies of its own, each entry
    // counts the same.
    let options = Options(
      limits: limits, settling: .atOnce, clock: SteppingClock(step: 1_000))
    let store = try sandbox.open(options)
    try put(40, "page", EntryMetadata(), in: store)
    store.waitUntilIdle()
    try put(80, "old", spare, in: store, firstSeed: 1_000)
    store.waitUntilIdle()
    let (spares, all) = (keys(store, "old").count, store.statistics.entries)
    #expect(keys(store, "old").last == "old89", "the last ones stay")
    // Each eviction makes room for a twentieth, which fills up before anything goes again.
    #expect(spares <= all / 4 + all / 20 + 1)
    #expect(keys(store, "page").count >= 25)
  }

  @Test func `as long as there is room, all spare entries stay, and they go first afterwards`()
    throws
  {
    let store = try open(Limits(entries: 40))
    try put(40, "old", spare, in: store)
    #expect(keys(store, "old").count == 40)
    try put(26, "page", EntryMetadata(), in: store)
    store.waitUntilIdle()
    #expect(keys(store, "page").count == 26, "none of them goes while there are more spare ones")
    #expect(keys(store, "old").first != "old10", "the oldest of them goes first")
    #expect(keys(store, "old").last == "old49")
  }

  @Test func `within their share spare entries leave in the order of all`() throws {
    let store = try open(Limits(entries: 40))
    try put(4, "old", spare, in: store)
    try put(36, "page", EntryMetadata(), in: store)
    _ = store.lookUp("old10")
    try put(1, "new", EntryMetadata(), in: store)
    store.waitUntilIdle()
    #expect(keys(store, "old") == ["old10", "old13"].filter { store.contains(ByteString($0)) })
    #expect(store.contains("old10"))
    #expect(keys(store, "page").count == 36)
  }

  @Test func `a spare body that is longer than the share is refused, and evicts nothing`() throws {
    let store = try open(Limits(bytes: 4_000, accounting: .logical))
    try put(40, "page", EntryMetadata(), in: store)
    let count = store.statistics.entries
    let long = TestBody.make(1_001, seed: 1)
    #expect(throws: failure(.entryTooLarge, sandbox.root)) {
      try store.put(long, for: "k", metadata: spare)
    }
    let writer = try store.makeWriter(for: "k", metadata: spare)
    #expect(throws: (any Error).self) { try writer.write(long) }
    #expect(store.statistics.entries == count)
    try store.put(long, for: "k")
    #expect(store.contains("k"))
  }

  @Test(arguments: [Settling.atOnce, .within(seconds: 3_600)])
  func `the tag counts after a change of the metadata, and after a new start`(
    settling: Settling
  ) throws {
    let clock = SteppingClock(step: 1_000)
    var options = Options(limits: Limits(entries: 40), clock: clock)
    options.settling = settling
    var store = try sandbox.open(options)
    try put(40, "page", EntryMetadata(), in: store)
    for number in 30..<50 { try store.update(ByteString("page\(number)")) { $0.tags = ["spare"] } }
    store.close()
    store = try sandbox.open(options)
    try put(4, "new", EntryMetadata(), in: store)
    store.waitUntilIdle()
    #expect(store.contains("page10"), "it was accessed first, and is not spare")
    #expect(!store.contains("page30"))
    // Without the tag, they are entries like others.
    for key in keys(store, "page3") + keys(store, "page4") {
      try store.update(ByteString(key)) { $0.tags = [] }
    }
    try put(10, "newer", EntryMetadata(), in: store)
    store.waitUntilIdle()
    #expect(!store.contains("page10"))
  }

  @Test func `a body that is longer than the share does not become spare`() throws {
    let store = try open(Limits(bytes: 4_000, accounting: .logical))
    try store.put(TestBody.make(1_001, seed: 1), for: "long")
    try store.put(TestBody.make(1_000, seed: 2), for: "short")
    #expect(throws: failure(.entryTooLarge, sandbox.root)) {
      try store.update("long") { $0.tags = ["spare"] }
    }
    #expect(store.info(for: "long")?.tags == [])
    #expect(try store.update("short") { $0.tags = ["spare"] })
    // One that is spare already stays so.
    try store.setLimits(Limits(bytes: 3_000, accounting: .logical))
    #expect(try store.pin("short"))
  }
}
