import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct CompactorTests {
  /// Metadata that make a record of some 8 KB.
  private static func metadata(_ number: Int) -> EntryMetadata {
    EntryMetadata(userInfo: [
      Field("filler", ByteString(bytes: [UInt8](repeating: UInt8(number % 251), count: 8_000)))
    ])
  }

  private static func fill(_ store: Store, rounds: Int, keys: Int) throws {
    for round in 0..<rounds {
      for number in 0..<keys {
        try store.put(
          Array("\(round) \(number)".utf8), for: ByteString("key\(number)"),
          metadata: metadata(round + number))
      }
    }
  }

  private static func check(_ store: Store, round: Int, keys: Int, _ note: String) {
    for number in 0..<keys {
      let entry = store.lookUp(ByteString("key\(number)")).entry
      #expect(entry?.body == Array("\(round) \(number)".utf8), "\(note)")
      #expect(entry?.info.metadata == metadata(round + number), "\(note)")
    }
    #expect(store.statistics.entries == keys, "\(note)")
  }

  @Test func `a journal that is mostly dead shrinks, and no entry is lost`() throws {
    let folder = JournalFolder()
    let store = try folder.open()
    try store.setLimits(Limits(entries: 1_000))
    try Self.fill(store, rounds: 16, keys: 20)
    store.waitUntilIdle()
    #expect(store.statistics.journalBytes <= 1 << 20)
    #expect(UInt64(folder.journalBytes) == store.statistics.journalBytes)
    Self.check(store, round: 15, keys: 20, "compacted")
    #expect(store.limits.entries == 1_000)
    store.close()
    let again = try folder.open()
    Self.check(again, round: 15, keys: 20, "opened again")
    #expect(again.limits.entries == 1_000)
    #expect(again.statistics.isComplete)
    #expect(again.statistics.journalDamages == 0)
  }

  /// What prevents compaction prevents the access times from being appended, too. Neither may ask for the
  /// other at once.
  @Test(.timeLimit(.minutes(1)))
  func `the upkeep comes to rest though the journal cannot be locked`() throws {
    let process = SimulatedProcess(on: SimulatedVolume())
    let store = try Store(at: CrashScenario.path, options: Options(fileSystem: process))
    func fail(_ kinds: Set<SimulatedOperation.Kind>) {
      process.setFault(
        SimulatedFault(.fail(SystemError(EMFILE)), at: 1, lasts: true) {
          kinds.contains($0.kind) && ($0.name.hasSuffix("journal") || $0.kind == .lock)
        })
    }
    fail([.open])
    try Self.fill(store, rounds: 16, keys: 20)
    #expect(process.struck != nil)
    fail([.open, .lock])
    #expect(store.lookUp("key0").entry != nil)
    store.waitUntilIdle()
    #expect(process.struck != nil)
    process.setFault(nil)
    try Self.fill(store, rounds: 16, keys: 20)
    store.waitUntilIdle()
    #expect(store.statistics.journalBytes <= 1 << 20)
    Self.check(store, round: 15, keys: 20, "compacted")
    store.close()
  }

  @Test func `a store that follows loses nothing while another compacts`() throws {
    let folder = JournalFolder()
    let writer = try folder.open()
    let follower = try folder.open()
    for round in 0..<4 {
      try Self.fill(writer, rounds: 12, keys: 20)
      // Sometimes the follower has seen the old segments, sometimes they are gone when it looks.
      if round.isMultiple(of: 2) { Self.check(follower, round: 11, keys: 20, "round \(round)") }
      writer.waitUntilIdle()
      Self.check(follower, round: 11, keys: 20, "after compaction \(round)")
    }
    #expect(follower.statistics.journalBytes == writer.statistics.journalBytes)
    #expect(follower.statistics.allocatedBytes == writer.statistics.allocatedBytes)
    #expect(UInt64(folder.journalBytes) == writer.statistics.journalBytes)
    try follower.put([1], for: "new")
    #expect(writer.lookUp("new").entry?.body == [1])
  }

  @Test func `access times and pins survive compaction`() throws {
    let folder = JournalFolder()
    let store = try folder.open()
    try store.put([1], for: "pinned")
    try store.pin("pinned")
    try store.put([2], for: "touched")
    try Self.fill(store, rounds: 1, keys: 3)
    _ = store.lookUp("touched")
    let accessed = try #require(store.info(for: "touched")?.accessed)
    try Self.fill(store, rounds: 60, keys: 3)
    store.waitUntilIdle()
    #expect(folder.segments.first != "00000001.log")
    store.close()
    let again = try folder.open()
    #expect(again.statistics.pinnedEntries == 1)
    #expect(again.info(for: "pinned")?.isPinned == true)
    #expect(again.info(for: "touched")?.accessed == accessed)
  }

  @Test func `a segment left by a crash between dropping and deleting goes with the next one`()
    throws
  {
    let folder = JournalFolder()
    let store = try folder.open()
    try store.put([1], for: "key")
    let old = folder.bytes("00000001.log")
    try Self.fill(store, rounds: 16, keys: 20)
    store.waitUntilIdle()
    #expect(!folder.segments.contains("00000001.log"))
    store.close()
    try folder.write(old, to: "00000001.log")
    let again = try folder.open()
    Self.check(again, keys: 21)
    try Self.fill(again, rounds: 16, keys: 20)
    again.waitUntilIdle()
    #expect(!folder.segments.contains("00000001.log"))
    Self.check(again, keys: 21)
  }

  private static func check(_ store: Store, keys: Int) {
    #expect(store.statistics.entries == keys)
    #expect(store.lookUp("key").entry?.body == [1])
    #expect(store.lookUp("key3").entry?.body == Array("15 3".utf8))
  }

  @Test func `an entry that another process settles meanwhile counts as settled in the copy`()
    throws
  {
    // Each call at which this process takes a lock is a moment for the other one.
    for moment in 0..<12 {
      let sandbox = StoreSandbox()
      let files = FaultyFiles()
      let options = Options(fileSystem: files)
      let store = try sandbox.open(options, settling: .within(seconds: 3_600))
      let other = try sandbox.open(settling: .within(seconds: 3_600))
      try store.put(TestBody.make(5_000, seed: 1), for: "k")
      #expect(other.lookUp("k").entry != nil)
      let locks = Mutex(0)
      files.faults.set { call in
        guard call.kind == .lock else { return nil }
        let count = locks.withLock { count in
          count += 1
          return count
        }
        if count == moment + 1 { _ = try? other.settle() }
        return nil
      }
      _ = try? store.compactor.renewJournal()
      files.faults.set(nil)
      #expect(try store.remove("k") == 1)
      store.waitUntilIdle()
      #expect(sandbox.bodies.isEmpty && sandbox.metadataFiles.isEmpty, "moment \(moment)")
    }
  }

  /// A store whose journal could not be compacted.
  private static func uncompacted() throws -> Store {
    let process = SimulatedProcess(on: SimulatedVolume())
    let store = try Store(at: CrashScenario.path, options: Options(fileSystem: process))
    process.setFault(
      SimulatedFault(.fail(SystemError(EMFILE)), at: 1, lasts: true) {
        $0.kind == .open && $0.name.hasSuffix("journal")
      })
    try fill(store, rounds: 16, keys: 20)
    store.waitUntilIdle()
    #expect(process.struck != nil && store.statistics.journalBytes > 2 << 20)
    process.setFault(nil)
    return store
  }

  @Test func `a journal that was shortened after a failure stays within its budget`() throws {
    let store = try Self.uncompacted()
    try store.purge()
    try Self.fill(store, rounds: 10, keys: 20)
    store.waitUntilIdle()
    #expect(store.statistics.journalBytes <= 1 << 20)
    store.close()
  }

  @Test func `after a removal of all entries, a failed compaction is tried again`() throws {
    let store = try Self.uncompacted()
    try store.removeAll()
    store.waitUntilIdle()
    #expect(store.statistics.journalBytes < 1 << 20)
    store.close()
  }

  @Test func `a dropped segment that could not be removed is removed later`() throws {
    let sandbox = StoreSandbox()
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    files.faults.set { call in
      call.kind == .removeFile && call.name.hasSuffix(".log") ? .inputOutput : nil
    }
    try store.purge()
    #expect(sandbox.segments.count == 2)
    files.faults.set(nil)
    store.compactor.compact()
    #expect(sandbox.segments.count == 1 && store.lookUp("a").entry?.body == [1])
    store.close()
  }
}
