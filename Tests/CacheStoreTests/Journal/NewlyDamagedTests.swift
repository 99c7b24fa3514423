import CLibrary
import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// A program finds damage while it runs, on each of the ways on which it reads new records.
@Suite struct NewlyDamagedTests {
  private let folder = JournalFolder()
  private let files = FaultyFiles()

  private func open(isReadOnly: Bool = false) throws -> Store {
    var options = Options(isReadOnly: isReadOnly, fileSystem: files)
    // Nothing is repaired meanwhile.
    options.isSupervised = !isReadOnly
    return try folder.open(options)
  }

  private func roll(_ store: Store) {
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
  }

  /// Changes a bit of the last record of a segment.
  private func damageEnd(of segment: String) throws {
    var bytes = folder.bytes(segment)
    bytes[try #require(folder.records(in: segment).last).offset + 40] ^= 1
    try folder.write(bytes, to: segment)
  }

  /// Looks often enough for a segment that follows one without a seal.
  private func lookUp(_ key: ByteString, in store: Store) -> [UInt8]? {
    for _ in 0..<64 where store.lookUp(key).entry == nil {}
    return store.lookUp(key).entry?.body
  }

  @Test(arguments: [EMFILE, EIO], [false, true])
  func `damage before a segment that cannot be opened`(code: Int32, isReadOnly: Bool) throws {
    let (writer, reader) = (try folder.open(), try open(isReadOnly: isReadOnly))
    try writer.put([1], for: "a")
    #expect(reader.lookUp("a").entry?.body == [1])
    try writer.put([2], for: "a")
    try writer.put([3], for: "b")
    try damageEnd(of: "00000001.log")
    files.faults.set { $0.kind == .open && $0.name == "00000002.log" ? SystemError(code) : nil }
    roll(writer)
    try writer.put([4], for: "c")
    #expect(reader.lookUp("b").entry?.body != [0])
    files.faults.set(nil)
    for (key, value) in [("a", 2), ("b", 3), ("c", 4)] as [(ByteString, UInt8)] {
      #expect(reader.lookUp(key).entry?.body == [value])
    }
    #expect(!reader.statistics.isComplete && reader.statistics.journalDamages > 0)
    reader.close()
    writer.close()
  }

  @Test(arguments: [false, true])
  func `damage after a segment without a seal`(isSealed: Bool) throws {
    let (writer, reader) = (try folder.open(), try open())
    try writer.put([1], for: "a")
    #expect(reader.lookUp("a").entry?.body == [1])
    // A segment with a second name is left without a seal.
    let (segment, copy) = ("\(folder.path)/journal/00000001.log", "\(folder.path)/journal/copy")
    try FileManager.default.linkItem(atPath: segment, toPath: copy)
    try writer.put([2], for: "b")
    if isSealed {
      roll(writer)
      try writer.put([3], for: "c")
      // It is no segment of this store any more.
      try folder.write(Array(repeating: 0, count: 200), to: "00000003.log")
    } else {
      try writer.put([3], for: "c")
      try damageEnd(of: "00000002.log")
      try writer.put([4], for: "d")
    }
    for (key, value) in [("c", 3), ("a", 1), ("b", 2)] as [(ByteString, UInt8)] {
      #expect(lookUp(key, in: reader) == [value])
    }
    if isSealed {
      // Nothing is appended to a segment that others have left.
      let before = folder.bytes("00000002.log")
      try reader.put([4], for: "d")
      #expect(folder.bytes("00000002.log") == before)
    }
    reader.close()
    writer.close()
  }

  @Test(arguments: [EMFILE, EIO])
  func `a journal that is begun and cannot be read as a whole`(code: Int32) throws {
    var options = Options()
    options.isSupervised = true
    try folder.open(options).close()
    #expect(folder.segments.isEmpty)
    let reader = try open(isReadOnly: true)
    let writer = try folder.open()
    try writer.put([1], for: "a")
    roll(writer)
    try writer.put([2], for: "b")
    files.faults.set { $0.kind == .open && $0.name == "00000002.log" ? SystemError(code) : nil }
    _ = reader.lookUp("b")
    files.faults.set(nil)
    #expect(reader.lookUp("a").entry?.body == [1])
    #expect(reader.lookUp("b").entry?.body == [2])
    reader.close()
    writer.close()
  }

  @Test func `a mark that is written after the journal was read is no sign of damage`() throws {
    let writer = try folder.open()
    try writer.put([1], for: "a")
    files.faults.set { call in
      if call.kind == .read, call.name == "lock" {
        _ = try? writer.put([2], for: "b")
        writer.close()
      }
      return nil
    }
    let reader = try open(isReadOnly: true)
    files.faults.set(nil)
    #expect(reader.statistics.journalDamages == 0 && reader.statistics.isComplete)
    #expect(reader.lookUp("b").entry?.body == [2])
    reader.close()
  }
}
