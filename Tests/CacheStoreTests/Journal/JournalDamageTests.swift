import CacheFormat
import CacheStore
import Foundation
import Testing

@Suite struct JournalDamageTests {
  private static let parts = 8

  @Test(arguments: 0..<parts)
  func `any flipped byte of the journal costs no entry`(part: Int) throws {
    let original = JournalFolder()
    try JournalScript.run(in: original)
    let segment = try #require(original.segments.first)
    #expect(original.segments.count == 1)
    let bytes = original.bytes(segment)
    let first = Int.random(in: 0..<TestScale.sampleStep) * Self.parts + part
    for offset in stride(from: first, to: bytes.count, by: TestScale.sampleStep * Self.parts) {
      let folder = try JournalFolder(copying: original)
      var damaged = bytes
      damaged[offset] ^= 1 << UInt8(offset / Self.parts % 8)
      try folder.write(damaged, to: segment)
      try JournalScript.checkHealing(folder, "byte \(offset)")
    }
  }

  @Test func `an undamaged journal is read without looking at the tree`() throws {
    let folder = JournalFolder()
    try JournalScript.run(in: folder)
    let before = folder.segments.map { folder.bytes($0) }
    let store = try folder.open()
    #expect(store.statistics.isComplete)
    #expect(store.statistics.journalDamages == 0)
    store.waitUntilIdle()
    #expect(folder.segments.map { folder.bytes($0) } == before, "nothing had to be written")
    JournalScript.check(store, "undamaged")
  }

  @Test func `zeros in place of any run of records cost no entry`() throws {
    let original = JournalFolder()
    try JournalScript.run(in: original)
    let segment = try #require(original.segments.first)
    let records = original.records(in: segment)
    #expect(records.count > 10)
    for first in 0..<records.count {
      for last in stride(from: first, to: records.count, by: 3) {
        let folder = try JournalFolder(copying: original)
        var bytes = folder.bytes(segment)
        let end = records[last].offset + records[last].header.length
        for place in records[first].offset..<end { bytes[place] = 0 }
        try folder.write(bytes, to: segment)
        try JournalScript.checkHealing(folder, "records \(first) to \(last) are zero")
      }
    }
  }

  @Test(arguments: [Durability.process, .full])
  func `a cut between any two records costs no entry`(durability: Durability) throws {
    let original = JournalFolder()
    try JournalScript.run(in: original, durability)
    let segment = try #require(original.segments.first)
    let records = original.records(in: segment)
    #expect(records.count > 10)
    for record in records {
      let folder = try JournalFolder(copying: original)
      try folder.write(Array(folder.bytes(segment)[..<record.offset]), to: segment)
      try JournalScript.checkHealing(folder, "cut at \(record.offset)")
    }
  }

  @Test func `a closing mark of an earlier run of the machine says nothing`() throws {
    let folder = JournalFolder()
    try JournalScript.run(in: folder)
    let seed = try folder.open().hashSeed
    let mark = ClosingMark(sequence: 1_000_000, boot: 1).encoded(hashSeed: seed)
    try Data(mark).write(to: URL(filePath: folder.path + "/lock"))
    let store = try folder.open(Options(isReadOnly: true))
    #expect(store.statistics.isComplete)
    #expect(store.statistics.journalDamages == 0)
  }

  @Test func `a journal of zeros, or cut to nothing, costs no entry`() throws {
    let original = JournalFolder()
    try JournalScript.run(in: original)
    let segment = try #require(original.segments.first)
    let count = original.bytes(segment).count
    for bytes in [[UInt8](repeating: 0, count: count), [], [UInt8](repeating: 0, count: 64)] {
      let folder = try JournalFolder(copying: original)
      try folder.write(bytes, to: segment)
      try JournalScript.checkHealing(folder, "\(bytes.count) zeros")
    }
  }

  @Test func `a record of a type that is not known is passed over`() throws {
    let folder = JournalFolder()
    try JournalScript.run(in: folder)
    let segment = try #require(folder.segments.first)
    try folder.append(
      RecordType(rawValue: 200), payload: [UInt8](repeating: 1, count: 77), to: segment)
    let store = try folder.open()
    JournalScript.check(store, "opened")
    #expect(store.statistics.journalDamages == 0)
    #expect(store.statistics.isComplete)
    try store.put([7], for: "after")
    store.close()
    let again = try folder.open()
    #expect(again.lookUp("after").entry?.body == [7])
    #expect(again.statistics.journalDamages == 0)
  }

  @Test(arguments: [RecordType.put, .remove, .touch, .limits, .drop, .seal])
  func `a whole record with too short a payload does no harm`(type: RecordType) throws {
    let folder = JournalFolder()
    try JournalScript.run(in: folder)
    try folder.append(type, payload: [1, 2, 3], to: try #require(folder.segments.first))
    try JournalScript.checkHealing(folder, "type \(type.rawValue)")
  }
}
