import CLibrary
import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

@testable import CacheStore

@Suite struct SegmentTests {
  private static func key(_ number: Int) -> ByteString { ByteString("key\(number)") }
  private static func digest(_ number: Int) -> Digest { Digest(hashing: body(number)) }
  private static func body(_ number: Int) -> [UInt8] { Array("body of \(number)".utf8) }

  /// A closed store with ten entries in each of `count` segments.
  private static func store(segments count: Int) throws -> JournalFolder {
    let folder = JournalFolder()
    let store = try folder.open()
    for number in 0..<10 * count {
      if number > 0 && number.isMultiple(of: 10) {
        store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
      }
      try store.put(body(number), for: key(number))
    }
    store.close()
    return folder
  }

  /// Checks the first `count` entries, and that there are `more` others.
  private static func check(_ store: Store, count: Int, more: Int = 0, _ note: String) {
    for number in 0..<count where store.lookUp(key(number)).entry?.body != body(number) {
      Issue.record("entry \(number) is lost; \(note)")
    }
    #expect(store.statistics.entries == count + more, "\(note)")
  }

  private static func checkHealing(_ folder: JournalFolder, count: Int, _ note: String) throws {
    let store = try folder.open()
    // Without an access: access times would be written a second later, and be waited for.
    for number in 0..<count where store.info(for: key(number))?.digest != digest(number) {
      Issue.record("entry \(number) is lost at once; \(note)")
    }
    try store.put([7], for: "new")
    store.waitUntilIdle()
    check(store, count: count, more: 1, "healed; \(note)")
    try store.put([8], for: "newer")
    store.close()
    let again = try folder.open()
    check(again, count: count, more: 2, "opened again; \(note)")
    #expect(again.lookUp("new").entry?.body == [7], "\(note)")
    #expect(again.lookUp("newer").entry?.body == [8], "\(note)")
    again.close()
  }

  @Test func `a journal of several segments is read in order`() throws {
    let folder = try Self.store(segments: 3)
    #expect(folder.segments == ["00000001.log", "00000002.log", "00000003.log"])
    let store = try folder.open()
    Self.check(store, count: 30, "three segments")
    #expect(store.statistics.isComplete)
    #expect(store.statistics.journalDamages == 0)
    for segment in folder.segments.dropLast() {
      #expect(folder.records(in: segment).last?.header.type == .seal)
    }
  }

  @Test func `a file whose name cannot be asked for is not replaced`() throws {
    let folder = JournalFolder()
    let files = FaultyFiles()
    let store = try folder.open(Options(fileSystem: files))
    try store.put([1], for: "a")
    let foreign: [UInt8] = [1, 2, 3]
    try folder.write(foreign, to: "00000002.log")
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    files.faults.set { call in
      call.kind == .statusAt && call.name == "00000002.log" ? SystemError(ENOMEM) : nil
    }
    #expect(throws: StoreError.self) { try store.put([2], for: "b") }
    #expect(folder.bytes("00000002.log") == foreign)
    files.faults.set(nil)
    try store.put([2], for: "b")
    // The journal is written anew, because a number is left out.
    store.waitUntilIdle()
    #expect(folder.quarantined("00000002.log") == foreign)
    for (key, value) in [("a", 1), ("b", 2)] as [(ByteString, UInt8)] {
      #expect(store.lookUp(key).entry?.body == [value])
    }
    store.close()
  }

  @Test func `a segment that cannot be opened is not deleted`() throws {
    let folder = try Self.store(segments: 2)
    let bytes = folder.bytes("00000001.log")
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name == "00000001.log" ? SystemError(EIO) : nil
    }
    let store = try folder.open(Options(fileSystem: files))
    store.waitUntilIdle()
    store.close()
    #expect(!folder.segments.contains("00000001.log"))
    #expect(folder.quarantined("00000001.log") == bytes)
    try Self.checkHealing(folder, count: 20, "unreadable")
  }

  @Test(arguments: 0..<3)
  func `a deleted segment costs no entry`(which: Int) throws {
    let folder = try Self.store(segments: 3)
    try folder.remove(folder.segments[which])
    try Self.checkHealing(folder, count: 30, "segment \(which + 1) deleted")
  }

  @Test func `a journal deleted whole costs no entry`() throws {
    let folder = try Self.store(segments: 3)
    for segment in folder.segments { try folder.remove(segment) }
    try Self.checkHealing(folder, count: 30, "all segments deleted")
  }

  @Test func `a journal folder that was deleted costs no entry`() throws {
    let folder = try Self.store(segments: 2)
    try FileManager.default.removeItem(atPath: folder.path + "/journal")
    try Self.checkHealing(folder, count: 20, "journal folder deleted")
  }

  @Test(arguments: [
    "notes.txt", "00000000.log", "00000002.log", "00000050.log", "0FFFFFFF.log", "7fffffff.log",
    "ffffffff.log", "fffffffe.log", "1.log", "000000002.log", "new",
  ])
  func `a foreign file beside the segments costs no entry`(name: String) throws {
    let folder = try Self.store(segments: 1)
    try folder.write(Array("something else".utf8), to: name)
    try Self.checkHealing(folder, count: 10, name)
  }

  @Test(arguments: [0xFFFF_FFFF, 0xFFFF_FFFE, 0xF000_0000] as [UInt32])
  func `a segment whose number no store reaches is none`(number: UInt32) throws {
    let folder = try Self.store(segments: 1)
    try folder.write(try Self.header(number, in: folder).bytes, to: Layout.segment(number).text)
    try Self.checkHealing(folder, count: 10, "\(number)")
  }

  @Test func `behind the last number nothing is stored, and nothing is lost`() throws {
    let folder = try Self.store(segments: 1)
    let last = Layout.lastSegment
    try folder.write(try Self.header(last, in: folder).bytes, to: Layout.segment(last).text)
    let store = try folder.open()
    store.waitUntilIdle()
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    let error = #expect(throws: StoreError.self) { try store.put([1], for: "new") }
    #expect(error?.cause == "the journal has reached the last number")
    for number in 0..<10 { #expect(store.lookUp(Self.key(number)).entry != nil) }
  }

  @Test func `records that all together are longer than any volume do not count`() throws {
    let folder = try Self.store(segments: 1)
    let store = try folder.open()
    // Otherwise the numbers of records and entries are equal, and the index is compared with itself after
    // each of them.
    try store.remove(Self.key(9))
    var record = PutHead(
      keyHash: KeyHash(high: 0, low: 0), digest: Digest(high: 0, low: 0), variant: 0,
      length: 1 << 48 - 1, created: .distantPast, accessed: .distantPast, expires: nil, bodyFile: 1,
      overhead: 0, status: nil, isPinned: false)
    try store.catalog.writer.append { _ throws(StoreError) -> [[UInt8]] in
      (0..<66_000).map { number in
        record.keyHash.low = UInt64(number)
        record.digest.low = UInt64(number)
        return PutRecord(head: record, key: "k", metadata: EntryMetadata()).bytes
      }
    }
    Self.check(store, count: 9, more: 16_385, "bounded")
    let again = try Store(at: folder.path, options: Options(isReadOnly: true))
    Self.check(again, count: 9, more: 16_385, "read again")
    again.close()
    store.close()
  }

  @Test(arguments: [Int64.min, .max])
  func `a store with a segment of any age is closed`(time: Int64) throws {
    let folder = try Self.store(segments: 1)
    var store = try folder.open()
    try store.remove(Self.key(9))
    store.close()
    let header = try Self.header(1, in: folder, created: time)
    let records = folder.bytes("00000001.log")[header.bytes.count...]
    try folder.write(header.bytes + records, to: "00000001.log")
    store = try folder.open()
    Self.check(store, count: 9, "\(time)")
    store.close()
  }

  private static func header(
    _ number: UInt32, in folder: JournalFolder, created: Int64 = 0
  ) throws -> SegmentHeader {
    let store = try Store(at: folder.path, options: Options(isReadOnly: true))
    defer { store.close() }
    return SegmentHeader(
      version: 1, storeID: store.catalog.place.description.id,
      hashSeed: store.catalog.place.description.hashSeed, number: UInt64(number),
      created: Timestamp(nanoseconds: created))
  }

  @Test(arguments: ["00000002.log", "new", "ffffffff.log"])
  func `a foreign directory beside the segments costs no entry`(name: String) throws {
    let folder = try Self.store(segments: 1)
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/journal/\(name)", withIntermediateDirectories: false)
    try Self.checkHealing(folder, count: 10, name)
  }

  @Test(arguments: ["00000002.log", "new"])
  func `a link among the segments is not followed`(name: String) throws {
    let folder = try Self.store(segments: 1)
    let target = folder.path + "-target"
    try Data("not to be touched".utf8).write(to: URL(fileURLWithPath: target))
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/journal/\(name)", withDestinationPath: target)
    try Self.checkHealing(folder, count: 10, name)
    #expect(FileManager.default.contents(atPath: target) == Data("not to be touched".utf8))
  }

  @Test(arguments: ["00000001.log", "00000002.log"])
  func `a segment of another store is not taken for one's own`(name: String) throws {
    let folder = try Self.store(segments: 1)
    let other = JournalFolder()
    let store = try other.open()
    try store.put([6], for: "foreign")
    store.close()
    try folder.write(other.bytes("00000001.log"), to: name)
    try Self.checkHealing(folder, count: 10, name)
    let again = try folder.open()
    #expect(!again.contains("foreign"))
  }

  @Test func `a segment of a newer version is an error, and is left alone`() throws {
    let folder = try Self.store(segments: 2)
    var bytes = folder.bytes("00000002.log")
    bytes[8] = 3
    let sum = Checksum.of(Array(bytes[..<56]))
    for index in 0..<8 { bytes[56 + index] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * index)) }
    try folder.write(bytes, to: "00000002.log")
    #expect(
      throws: StoreError(
        .newerFormat, path: folder.path + "/journal/00000002.log", cause: "", remedy: "")
    ) { try folder.open() }
    #expect(folder.bytes("00000002.log") == bytes)
  }

  @Test func `a segment that was begun by a killed process divides nobody`() throws {
    // Killed after the new segment had its name, and before the old one was sealed.
    let folder = try Self.store(segments: 1)
    let first = try folder.open()
    guard case .header(var header) = SegmentHeader.read(folder.bytes("00000001.log")) else {
      Issue.record("no header")
      return
    }
    header.number = 2
    try folder.write(header.bytes, to: "00000002.log")
    let second = try folder.open()
    try first.put([1], for: "first")
    #expect(second.lookUp("first").entry?.body == [1])
    try second.put([2], for: "second")
    #expect(first.lookUp("second").entry?.body == [2])
    first.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    try first.put([3], for: "third")
    #expect(second.lookUp("third").entry?.body == [3])
    first.close()
    second.close()
    let again = try folder.open()
    Self.check(again, count: 10, more: 3, "opened again")
    #expect(again.statistics.journalDamages == 0)
  }
}
