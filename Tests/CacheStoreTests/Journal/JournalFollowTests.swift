import CacheFormat
import CacheSystem
import Synchronization
import Testing

@testable import CacheStore

@Suite struct JournalFollowTests {
  private let folder = JournalFolder()
  private let one: Store
  private let two: Store

  init() throws {
    one = try folder.open()
    two = try folder.open()
  }

  @Test func `what one store puts, replaces and removes the other sees at once`() throws {
    for round in 0..<20 {
      let (writer, reader) = round.isMultiple(of: 2) ? (one, two) : (two, one)
      let key = ByteString("key\(round / 2)")
      try writer.put([UInt8(round)], for: key)
      #expect(reader.lookUp(key).entry?.body == [UInt8(round)])
      try writer.update(key) { $0.tags = [ByteString("t\(round)")] }
      #expect(reader.info(for: key)?.tags == [ByteString("t\(round)")])
    }
    #expect(one.statistics.entries == 10)
    #expect(two.statistics.entries == 10)
    try two.remove("key3")
    #expect(!one.contains("key3"))
    #expect(one.statistics.entries == 9)
  }

  @Test func `after all was removed by one, the other stores into the new tree`() throws {
    for number in 0..<20 { try one.put([UInt8(number)], for: ByteString("key\(number)")) }
    #expect(two.statistics.entries == 20)
    try one.removeAll()
    #expect(two.statistics.entries == 0)
    #expect(!two.contains("key1"))
    try two.put([1, 2], for: "key1")
    #expect(one.lookUp("key1").entry?.body == [1, 2])
    try two.removeAll()
    try one.put([3], for: "key2")
    #expect(two.lookUp("key2").entry?.body == [3])
    #expect(folder.keyDirectories == 1)
    one.close()
    two.close()
    let again = try folder.open()
    #expect(again.statistics.entries == 1)
    #expect(again.lookUp("key2").entry?.body == [3])
  }

  @Test func `limits and pins of one are those of the other`() throws {
    let limits = Limits(bytes: 1 << 20, entries: 50, entryBytes: 1 << 10, freeBytes: 1)
    try one.setLimits(limits)
    #expect(two.limits == limits)
    for number in 0..<60 { try two.put([UInt8(number)], for: ByteString("key\(number)")) }
    #expect(one.statistics.entries <= 50)
    #expect(one.statistics.entries == two.statistics.entries)
    try one.pin("key59")
    #expect(two.statistics.pinnedEntries == 1)
    try two.setLimits(.none)
    #expect(one.limits == Limits.none)
    one.close()
    two.close()
    #expect(try folder.open().limits == Limits.none)
  }

  @Test func `a new segment begun by either is followed by the other`() throws {
    for round in 0..<12 {
      let (writer, reader) = round.isMultiple(of: 2) ? (one, two) : (two, one)
      writer.catalog.journal.rollsNext.store(true, ordering: .relaxed)
      for number in 0..<5 {
        let key = ByteString("key\(round).\(number)")
        try writer.put([UInt8(round), UInt8(number)], for: key)
        #expect(reader.lookUp(key).entry?.body == [UInt8(round), UInt8(number)])
      }
    }
    #expect(folder.segments.count == 13)
    #expect(one.statistics.entries == 60)
    #expect(two.statistics.entries == 60)
    #expect(one.statistics.journalBytes == two.statistics.journalBytes)
  }

  @Test func `access times of one reach the other with the next touches`() throws {
    try one.put([1], for: "old")
    try one.put([2], for: "new")
    let before = try #require(two.info(for: "old")?.accessed)
    _ = one.lookUp("old")
    try one.flush()
    #expect(try #require(two.info(for: "old")?.accessed) > before)
    #expect(two.catalog.state.withLock { $0.index.oldest()?.digest } == Digest(hashing: [2]))
  }

  @Test func `a record of a type that is not known is followed, too`() throws {
    try one.put([1], for: "before")
    try folder.append(RecordType(rawValue: 99), payload: [5], to: "00000001.log")
    try two.put([2], for: "after")
    #expect(one.lookUp("after").entry?.body == [2])
    #expect(one.lookUp("before").entry?.body == [1])
    #expect(one.statistics.journalDamages == 0)
  }
}

@Suite struct JournalCompactionTests {
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
}
