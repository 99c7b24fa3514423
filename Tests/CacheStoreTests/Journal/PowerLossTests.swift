import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// What a power cut may leave: records that nobody has synced are missing between others, and files
/// that were removed or replaced are there again.
@Suite struct PowerLossTests {
  private static func key(_ number: Int) -> ByteString { ByteString("key\(number)") }
  private static func note(_ text: ByteString) -> EntryMetadata {
    EntryMetadata(userInfo: [Field("note", text)])
  }

  /// A store whose tree is as before `change`, whose journal knows of it, and of which a record
  /// behind it is lost.
  private func cut(
    _ change: (Store) throws -> Void
  ) throws -> JournalFolder {
    let folder = JournalFolder()
    let files = FileManager.default
    let store = try folder.open()
    for number in 0..<10 {
      try store.put([UInt8(number)], for: Self.key(number), metadata: Self.note("old"))
    }
    try files.copyItem(atPath: folder.path + "/entries", toPath: folder.path + "/before")
    try change(store)
    for number in 10..<13 { try store.put([UInt8(number)], for: Self.key(number)) }
    store.close()
    let segment = try #require(folder.segments.first)
    var bytes = folder.bytes(segment)
    let lost = try #require(folder.records(in: segment).dropLast().last)
    for place in lost.offset..<(lost.offset + lost.header.length) { bytes[place] = 0 }
    try folder.write(bytes, to: segment)
    try files.removeItem(atPath: folder.path + "/entries")
    try files.moveItem(atPath: folder.path + "/before", toPath: folder.path + "/entries")
    try folder.leaveDeadSession()
    return folder
  }

  @Test(arguments: [false, true])
  func `what was removed stays away though its files are there again`(all: Bool) throws {
    let folder = try cut { store in
      if all { try store.removeAll() } else { try store.remove(Self.key(4)) }
    }
    let store = try folder.open()
    #expect(store.lookUp(Self.key(4)).entry == nil)
    store.waitUntilIdle()
    #expect(store.lookUp(Self.key(4)).entry == nil)
    #expect((store.lookUp(Self.key(5)).entry?.body == [5]) == !all)
    store.close()
    // What was left of it is gone, too.
    #expect(folder.keyDirectories == (all ? 0 : 9))
  }

  @Test func `what was stored again after its removal is taken up`() throws {
    let folder = try cut { try $0.remove(Self.key(4)) }
    var store = try folder.open()
    try store.put([44], for: Self.key(4))
    store.close()
    // Every record is lost, also that of the second time; so is the one of the removal.
    for segment in folder.segments { try folder.remove(segment) }
    store = try folder.open()
    #expect(store.lookUp(Self.key(4)).entry?.body == [44])
    store.close()
    #expect(folder.keyDirectories == 10)
  }

  @Test(arguments: [false, true])
  func `what was stored again is taken up though the clock was set back`(all: Bool) throws {
    let folder = JournalFolder()
    let clock = TestClock()
    var store = try folder.open(Options(clock: clock))
    try store.put([4], for: Self.key(4))
    if all { try store.removeAll() } else { try store.remove(Self.key(4)) }
    clock.advance(bySeconds: -1_000_000)
    try store.put([44], for: Self.key(4))
    for number in 5..<8 { try store.put([1], for: Self.key(number)) }
    store.close()
    let (segment, lost) = try #require(
      folder.segments.flatMap { segment in folder.records(in: segment).map { (segment, $0) } }
        .filter { $0.1.header.type == .put }.dropLast(3).last)
    var bytes = folder.bytes(segment)
    for place in lost.offset..<(lost.offset + lost.header.length) { bytes[place] = 0 }
    try folder.write(bytes, to: segment)
    try folder.leaveDeadSession()
    store = try folder.open()
    #expect(store.lookUp(Self.key(4)).entry?.body == [44])
    store.waitUntilIdle()
    #expect(store.lookUp(Self.key(4)).entry?.body == [44])
    store.close()
  }

  @Test(arguments: [false, true])
  func `a removal counts though the file had the number of a lost record`(others: Bool) throws {
    let folder = JournalFolder()
    let files = FaultyFiles()
    var store = try folder.open()
    try store.put([4], for: "k")
    try store.pin("k")
    let segment = try #require(folder.segments.first)
    let journal = folder.bytes(segment)
    for number in 0..<4 {
      try store.put([1], for: Self.key(number))
      if !others { try store.remove(Self.key(number)) }
    }
    for _ in 0..<50 { try store.pin("k") }
    store.close()
    try folder.write(journal, to: segment)
    try folder.leaveDeadSession()
    store = try folder.open(Options(fileSystem: files))
    store.waitUntilIdle()
    files.faults.set { $0.kind == .removeFile ? .inputOutput : nil }
    #expect(try store.remove("k") == 1)
    for key: ByteString in ["x", "y"] { try store.put([1], for: key) }
    store.close()
    let last = try #require(folder.segments.last)
    var bytes = folder.bytes(last)
    let puts = folder.records(in: last).filter { $0.header.type == .put }
    let lost = try #require(puts.dropLast().last)
    bytes[lost.offset + lost.header.length - 1] ^= 1
    try folder.write(bytes, to: last)
    try folder.leaveDeadSession()
    store = try folder.open()
    #expect(store.lookUp("k").entry == nil)
    store.waitUntilIdle()
    #expect(store.lookUp("k").entry == nil && store.lookUp("y").entry != nil)
    store.close()
  }

  @Test func `changed metadata stays though the old file is there again`() throws {
    let folder = try cut { try $0.update(Self.key(4)) { $0 = Self.note("new") } }
    let store = try folder.open()
    store.waitUntilIdle()
    #expect(store.lookUp(Self.key(4)).entry?.info.metadata == Self.note("new"))
    store.close()
    // Those that came after have lost their files.
    #expect(folder.entryCount == 10)
  }

  @Test func `a promise in a new segment waits for the end of the one before`() throws {
    let folder = JournalFolder()
    let files = FaultyFiles()
    let store = try folder.open(Options(durability: .full, fileSystem: files))
    try store.put([1], for: "a")
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    files.faults.set(nil)
    try store.put([2], for: "b")
    let synced = files.faults.calls.filter { $0.kind == .synchronize }.map(\.name)
    let old = try #require(synced.firstIndex(of: "00000001.log"), "\(synced)")
    let new = try #require(synced.lastIndex(of: "00000002.log"), "\(synced)")
    #expect(old < new)
    // Once is enough.
    files.faults.set(nil)
    try store.put([3], for: "c")
    #expect(!files.faults.calls.contains { $0.kind == .synchronize && $0.name == "00000001.log" })
    store.close()
    #expect(folder.segments.count == 2)
  }

  @Test func `the removal of what was evicted waits for the eviction`() throws {
    let folder = JournalFolder()
    let files = FaultyFiles()
    let store = try folder.open(Options(durability: .full, fileSystem: files))
    try store.put([1], for: "a")
    try store.trim(toBytes: 0)
    files.faults.set(nil)
    #expect(try store.remove("a") == 0)
    #expect(files.faults.calls.contains { $0.kind == .synchronize && $0.name == "00000001.log" })
    store.close()
    #expect(folder.entryCount == 0)
  }

  @Test func `a segment that was made a terabyte long is not read to its end`() throws {
    let folder = JournalFolder()
    var store = try folder.open()
    for number in 0..<10 { try store.put([UInt8(number)], for: Self.key(number)) }
    store.close()
    let segment = folder.path + "/journal/00000001.log"
    let file = try #require(FileHandle(forUpdatingAtPath: segment))
    try file.truncate(atOffset: 1 << 40)
    try file.close()
    let files = FaultyFiles()
    files.faults.set(nil)
    store = try folder.open(Options(fileSystem: files))
    #expect(files.faults.calls.count { $0.kind == .read } < 1_000)
    for number in 0..<10 { #expect(store.lookUp(Self.key(number)).entry?.body == [UInt8(number)]) }
    store.waitUntilIdle()
    #expect(store.statistics.journalDamages > 0)
    store.close()
    #expect(folder.journalBytes < 1 << 20)
  }
}
