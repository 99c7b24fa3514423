import CacheFormat
import CacheSystem
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// Entries that another cache has kept before.
@Suite struct NewEntryTests {
  let sandbox = StoreSandbox()
  private static let now: Int64 = 1_700_000_000_000_000_000

  private func time(_ seconds: Int64) -> Timestamp {
    Timestamp(nanoseconds: Self.now + seconds * 1_000_000_000)
  }

  private func past(_ accessed: Int64, created: Int64? = nil) -> ImportedTimes {
    ImportedTimes(created: created.map(time), accessed: time(accessed))
  }

  @discardableResult
  private func put(
    _ store: Store, _ key: String, _ past: ImportedTimes?, body: [UInt8] = [1]
  ) throws -> EntryInfo {
    try store.put(
      body, for: ByteString(key), variant: 0, metadata: EntryMetadata(status: 200), past: past)
  }

  @Test func `both times are kept, by put and by stream, and after opening again`() throws {
    let store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    let whole = try put(store, "whole", past(-50, created: -100), body: TestBody.make(9, seed: 1))
    let writer = try store.makeWriter(
      for: "streamed", variant: 0, metadata: EntryMetadata(), past: past(-60, created: -90))
    try writer.write(TestBody.make(9, seed: 1))
    let streamed = try writer.commit()
    #expect((whole.created, whole.accessed) == (time(-100), time(-50)))
    #expect((streamed.created, streamed.accessed) == (time(-90), time(-60)))
    #expect(store.statistics.sharedBytes == 9)
    store.close()
    let reopened = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    for info in [whole, streamed] {
      let found = try #require(reopened.info(for: info.key))
      #expect((found.created, found.accessed) == (info.created, info.accessed))
    }
  }

  @Test func `times to come are taken for now, times before 1970 are kept`() throws {
    let store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    let future = try put(store, "future", past(1000, created: 2000))
    #expect((future.created, future.accessed) == (time(0), time(0)))
    let old = ImportedTimes(
      created: Timestamp(nanoseconds: -9_000_000_000), accessed: Timestamp(nanoseconds: -1))
    try put(store, "old", old)
    store.close()
    let found = try #require(sandbox.open().info(for: "old"))
    #expect((found.created, found.accessed) == (old.created, old.accessed))
  }

  @Test func `without a time of making an entry counts as stored now`() throws {
    let store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    #expect(try put(store, "a", past(-7)).created == time(0))
  }

  @Test func `accesses after it are later than all before`() throws {
    let store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    var last = try store.put([1], for: "a").accessed
    for number in 0..<5 {
      try put(store, "p\(number)", past(Int64(number) - 100))
      let next = try store.put([1], for: "b").accessed
      #expect(next > last)
      last = next
    }
  }

  @Test func `what takes the place of an entry is no older than its last access`() throws {
    let store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    let known = try store.put([1], for: "a")
    #expect(try put(store, "a", past(-500), body: [2]).accessed == known.accessed)
    store.close()
    #expect(try sandbox.open().info(for: "a")?.accessed == known.accessed)
  }

  @Test(arguments: [false, true])
  func `the order of eviction is that of the times given`(isReopened: Bool) throws {
    var random = SplitMix64(seed: 5)
    var store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    var times = (0..<80).map { Int64($0) - 1000 }
    times.shuffle(using: &random)
    for time in times { try put(store, "t\(time)", past(time)) }
    // Slots that were used by later entries are used again.
    for time in times.prefix(20) { try store.remove(ByteString("t\(time)")) }
    for time in times.prefix(20) { try put(store, "t\(time - 500)", past(time - 500)) }
    if isReopened {
      store.close()
      store = try sandbox.open(Options(clock: SteppingClock(Self.now)))
    }
    let order = (times.prefix(20).map { $0 - 500 } + times.dropFirst(20)).sorted()
    for time in order.prefix(70) {
      #expect(try store.evictor.evictOne(.count) != nil)
      #expect(!store.contains(ByteString("t\(time)")), "\(time)")
    }
    #expect(store.statistics.entries == 10)
  }

  @Test func `in a store at its limits an entry takes the place of older ones alone`() throws {
    let clock = SteppingClock(Self.now)
    let store = try sandbox.open(Options(limits: Limits(entries: 3), clock: clock))
    for time: Int64 in [-30, -20, -10] { try put(store, "t\(time)", past(time)) }
    #expect(throws: failure(.leastRecent, sandbox.root)) { try put(store, "t-40", past(-40)) }
    #expect(throws: failure(.leastRecent, sandbox.root)) {
      let writer = try store.makeWriter(
        for: "s", variant: 0, metadata: EntryMetadata(), past: past(-40))
      try writer.write([1, 2, 3])
      try writer.commit()
    }
    #expect(store.statistics.entries == 3)
    try put(store, "t-25", past(-25))
    #expect(
      Set(store.entries().map(\.key)) == ["t-25", "t-20", "t-10"].map { ByteString($0) }.set)
    // What is stored now takes the place of any.
    try store.put([1], for: "new")
    #expect(!store.contains("t-25"))
  }

  @Test func `free space for others is not made of what was asked for later`() throws {
    let files = FaultyFiles()
    files.faults.availableBytes = 1 << 20
    let store = try sandbox.open(
      Options(
        limits: Limits(freeBytes: 1 << 30), clock: SteppingClock(Self.now), fileSystem: files))
    #expect(throws: failure(.noSpace, sandbox.root)) { try put(store, "a", past(-40)) }
  }

  private func entry(_ body: BodySource) -> NewEntry {
    NewEntry(
      key: "k", variant: 0, metadata: EntryMetadata(), digest: Digest(hashing: [2]), length: 1,
      body: body)
  }

  @Test func `a copy of the record by compaction is no other entry`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    let hash = store.catalog.hash("k")
    let before = store.catalog.state.withLock { Before(&$0, hash, entry(.bytes([2])), now: 0) }
    try store.purge()
    #expect(store.catalog.state.withLock { before.isCurrent($0, hash) })
    try store.put([3], for: "k")
    #expect(!store.catalog.state.withLock { before.isCurrent($0, hash) })
  }

  @Test func `a body from staging is there again when its entry was not stored`() throws {
    let store = try sandbox.open()
    let writer = try store.makeWriter(for: "other")
    try writer.write([2])
    let session = try store.catalog.writer.ownSession()
    var staged: PathName?
    try store.fileSystem.list(session.directory.raw) { name, _ in
      staged = name
      return true
    }
    let name = try #require(staged)
    let hash = store.catalog.hash("k")
    try store.catalog.withShard(of: hash) { shard throws(StoreError) in
      let new = entry(
        .staged(StagedFile(name: name, session: session, content: writer.written)))
      let before = store.catalog.state.withLock { Before(&$0, hash, new, now: 0) }
      var files = try KeyFiles(store.catalog.tree, shard, hash, staging: session, isKnown: false)
      _ = try files.placeBody(new, before)
      #expect(sandbox.bodies.count == 1)
      files.undo()
    }
    #expect(sandbox.bodies.isEmpty)
    try writer.commit()
    #expect(store.lookUp("other").entry?.body == [2])
  }
}

extension Array where Element: Hashable {
  fileprivate var set: Set<Element> { Set(self) }
}
