import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct JournalReaderTests {
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

  @Test(arguments: [Duration.zero, .seconds(3_600)])
  func `with a lag, few look-ups query the journal for what others have done`(lag: Duration) throws
  {
    try one.put([1], for: "key")
    let files = FaultyFiles()
    let late = try Store(
      at: folder.path, options: Options(settling: .atOnce, lag: lag, fileSystem: files))
    late.waitUntilIdle()
    files.faults.set(nil)
    for _ in 0..<100 { #expect(late.lookUp("other").entry == nil) }
    let queries = files.faults.calls.count { $0.kind == .length }
    #expect(lag == .zero ? queries >= 100 : queries < 10)
    // What it has stored itself it sees at once, and with it all that was stored before.
    try one.put([2], for: "key")
    try late.put([3], for: "own")
    #expect(late.lookUp("own").entry?.body == [3] && late.lookUp("key").entry?.body == [2])
    late.close()
  }

  @Test func `after a lag, a look-up sees what others have done`() throws {
    let late = try Store(
      at: folder.path, options: Options(settling: .atOnce, lag: .nanoseconds(1)))
    for value in UInt8(4)..<20 {
      try one.put([value], for: "key")
      #expect(late.lookUp("key").entry?.body == [value])
    }
    late.close()
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

  /// If only a part of the records fits on a full disk, nothing is removed.
  @Test func `that all was removed is the last record of it`() throws {
    try one.setLimits(Limits(entries: 50))
    try one.put([1], for: "key")
    try one.removeAll()
    let segment = try #require(folder.segments.last)
    #expect(folder.records(in: segment).suffix(2).map(\.header.type) == [.limits, .clear])
    #expect(two.limits.entries == 50 && two.statistics.entries == 0)
  }

  @Test func `an entry that was chosen for its tag stays if another replaces it`() throws {
    try one.put([1], for: "key", metadata: EntryMetadata(tags: ["old"]))
    let chosen = try #require(one.catalog.slots(of: one.catalog.hash("key")).first)
    try two.put([2], for: "key")
    #expect(try !one.evictor.remove(chosen, .asked, exactly: true))
    #expect(one.lookUp("key").entry?.body == [2])
    let now = try #require(one.catalog.slots(of: one.catalog.hash("key")).first)
    #expect(try one.evictor.remove(now, .asked, exactly: true))
    #expect(two.lookUp("key").entry == nil)
  }

  @Test func `limits and pins of one are those of the other`() throws {
    let limits = Limits(bytes: 1 << 20, entries: 50, entryBytes: 1 << 10, freeBytes: 1)
    try one.setLimits(limits)
    #expect(two.limits == limits)
    for number in 0..<60 { try two.put([UInt8(number)], for: ByteString("key\(number)")) }
    #expect(one.statistics.entries <= 50)
    // The background threads evict a little more.
    one.waitUntilIdle()
    two.waitUntilIdle()
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

  @Test func `damage that a running program reads is repaired by it`() throws {
    for store in [one, two] { store.waitUntilIdle() }
    let segment = try #require(folder.segments.last)
    for number in 0..<3 { try one.put([UInt8(number)], for: ByteString("key\(number)")) }
    try one.remove("key0")
    var bytes = folder.bytes(segment)
    let records = folder.records(in: segment)
    bytes[try #require(records.dropLast().last).offset + 40] ^= 1
    try folder.write(bytes, to: segment)
    #expect(two.lookUp("key0").entry == nil)
    two.waitUntilIdle()
    #expect(two.catalog.isIndexWhole && two.statistics.journalDamages > 0)
    #expect(folder.segments.contains(segment) == false)
    for store in [one, two] {
      for number in 0..<3 {
        let body = store.lookUp(ByteString("key\(number)")).entry?.body
        #expect(body == (number == 0 ? nil : [UInt8(number)]))
      }
    }
  }
}
