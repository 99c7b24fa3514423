import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

/// Damage to the journal: what is found, and that it agrees with what the engine makes of it.
@Suite struct JournalCheckTests {
  private static let first = "journal/00000001.log"

  private func three() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for key in ["a", "b", "c"] as [ByteString] { try store.put([1, 2, 3], for: key) }
    }
    return sandbox
  }

  @Test func `a journal without a segment is missing, told once for all entries`() throws {
    let sandbox = try three()
    try sandbox.remove(Self.first)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.journalMissing])
  }

  @Test func `a damaged record is found with its place`() throws {
    let sandbox = try three()
    let second = try sandbox.records(Self.first)[1]
    try sandbox.flip(Self.first, at: second.lowerBound + 60)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.entryUnrecorded, .recordDamaged])
    #expect(
      checked.findings.contains {
        $0.detail == "no record from byte \(second.lowerBound) to byte \(second.upperBound)"
      })
  }

  @Test func `a journal that was cut between two records is short`() throws {
    let sandbox = try three()
    let last = try #require(sandbox.records(Self.first).last)
    try sandbox.cut(Self.first, by: last.count)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.entryUnrecorded, .journalShort])
    #expect(
      checked.findings.contains { $0.detail == "its last record is 2, it had 3" })
    #expect(try sandbox.repair().unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `a journal that is short is found also if a process was killed since`() throws {
    let sandbox = try three()
    let last = try #require(sandbox.records(Self.first).last)
    try sandbox.cut(Self.first, by: last.count)
    try sandbox.append(Self.first, [1, 2, 3, 4, 5, 6, 7, 8])
    try sandbox.makeDirectory("staging/0123456789abcdef")
    #expect(
      try sandbox.check().kinds == [
        .entryUnrecorded, .journalShort, .journalTorn, .stagingLeft,
      ])
  }

  @Test func `half a record at the end was never promised where a process was killed`() throws {
    let sandbox = try three()
    try sandbox.append(Self.first, [1, 2, 3, 4, 5, 6, 7, 8])
    try sandbox.makeDirectory("staging/0123456789abcdef")
    #expect(try sandbox.check().kinds == [.journalTorn, .stagingLeft])
  }

  @Test func `half a record at the end is damage where no process was killed`() throws {
    let sandbox = try three()
    try sandbox.append(Self.first, [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(try sandbox.check().kinds == [.recordDamaged])
    let last = try #require(try sandbox.records(Self.first).last)
    try sandbox.write(Self.first, Array(try sandbox.bytes(Self.first)[..<(last.upperBound - 8)]))
    #expect(try sandbox.check().kinds == [.entryUnrecorded, .recordDamaged])
  }

  @Test func `a segment whose header is damaged, or of another store, is damaged`() throws {
    let sandbox = try three()
    let bytes = try sandbox.bytes(Self.first)
    try sandbox.flip(Self.first, at: 20)
    #expect(Set(try sandbox.check().kinds) == [.segmentDamaged, .entryUnrecorded])
    let other = try three()
    try sandbox.write(Self.first, try other.bytes(Self.first))
    #expect(Set(try sandbox.check().kinds) == [.segmentDamaged, .entryUnrecorded])
    try sandbox.write(Self.first, [])
    #expect(Set(try sandbox.check().kinds) == [.segmentDamaged, .entryUnrecorded])
    try sandbox.write(Self.first, bytes)
    #expect(try sandbox.check().findings == [])
  }

  @Test func `a segment of a terabyte is not read`() throws {
    let sandbox = try three()
    try sandbox.stretch(Self.first, to: 1 << 40)
    #expect(Set(try sandbox.check().kinds) == [.segmentDamaged, .entryUnrecorded])
  }

  @Test func `what is no file in the journal is of a wrong kind`() throws {
    let sandbox = try three()
    try sandbox.remove(Self.first)
    try sandbox.plantLink(Self.first, to: "/dev/zero")
    #expect(
      Set(try sandbox.check().kinds) == [.segmentDamaged, .wrongKind, .entryUnrecorded])
  }

  @Test func `missing segments are found, also at the beginning`() throws {
    let sandbox = try three()
    try sandbox.move(Self.first, to: "journal/00000003.log")
    #expect(
      Set(try sandbox.check().kinds) == [.segmentDamaged, .segmentMissing, .entryUnrecorded])
  }

  /// The records of the first segment with other sequence numbers.
  private func renumber(_ sandbox: CheckSandbox, _ numbers: [UInt64]) throws {
    var bytes = try sandbox.bytes(Self.first)
    guard case .header(let header) = SegmentHeader.read(bytes) else {
      Issue.record("there is no header")
      return
    }
    for (range, number) in zip(try sandbox.records(Self.first), numbers) {
      var record = Array(bytes[range])
      RecordFrame.place(
        &record, sequence: number,
        seed: RecordFrame.seed(
          hashSeed: header.hashSeed, segment: 1, offset: UInt64(range.lowerBound)))
      bytes.replaceSubrange(range, with: record)
    }
    try sandbox.write(Self.first, bytes)
  }

  @Test func `records that are left out are found`() throws {
    let sandbox = try three()
    try renumber(sandbox, [1, 2, 4])
    #expect(try sandbox.check().kinds == [.recordOutOfSequence])
  }

  @Test func `a first record that is not number 1 is found, as the engine finds it`() throws {
    let sandbox = try three()
    try renumber(sandbox, [2, 3, 4])
    #expect(try sandbox.check().kinds == [.recordOutOfSequence])
    #expect(try sandbox.repair(.safe).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
  }

  /// Makes a segment with a far number: a copy of the first one, with some of its header changed.
  private func plantFar(
    _ sandbox: CheckSandbox, _ change: (inout SegmentHeader) -> Void
  ) throws -> String {
    let bytes = try sandbox.bytes(Self.first)
    guard case .header(var header) = SegmentHeader.read(bytes) else { return "" }
    header.number = 20_240_101
    change(&header)
    let name = "journal/20240101.log"
    try sandbox.write(name, header.bytes + bytes.dropFirst(SegmentHeader.count))
    return name
  }

  @Test(arguments: [false, true])
  func `a far segment of another store, or with another number, is foreign`(
    isOfOtherStore: Bool
  ) throws {
    let sandbox = try three()
    let name = try plantFar(sandbox) { header in
      if isOfOtherStore { header.storeID = .init(high: 1, low: 2) } else { header.number = 7 }
    }
    let checked = try sandbox.check()
    #expect(checked.kinds == [.foreignFile] && checked.paths(.foreignFile) == [name])
    // The engine leaves it out, too: no record counts as lost.
    #expect(try sandbox.repair(.safe).unrepaired.map(\.kind) == [.foreignFile])
    #expect(try sandbox.check(.deep).kinds == [.foreignFile])
  }

  @Test func `a far segment that is too long for one is foreign`() throws {
    let sandbox = try three()
    try sandbox.stretch(try plantFar(sandbox) { _ in }, to: 1 << 40)
    #expect(try sandbox.check().kinds == [.foreignFile])
  }

  @Test func `of many findings of a kind in a segment the first are told`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for number in 0..<200 { try store.put([1], for: "\(number)") }
    }
    try renumber(sandbox, (1...200).map { 2 * $0 - 1 })
    let found = try sandbox.check().findings.filter { $0.kind == .recordOutOfSequence }
    #expect(found.count == CheckLimits.segmentFindings + 1)
    #expect(found.last?.detail == "and more like that")
  }

  @Test func `a sequence number that comes twice is found`() throws {
    let sandbox = try three()
    try renumber(sandbox, [1, 2, 2])
    #expect(try sandbox.check().kinds == [.recordDuplicate])
  }

  @Test func `a record whose key is another than its hash is damaged`() throws {
    let sandbox = try three()
    var bytes = try sandbox.bytes(Self.first)
    guard case .header(let header) = SegmentHeader.read(bytes) else {
      Issue.record("there is no header")
      return
    }
    let range = try sandbox.records(Self.first)[0]
    var record = Array(bytes[range])
    record[32 + 104] ^= 1
    RecordFrame.place(
      &record, sequence: 1,
      seed: RecordFrame.seed(
        hashSeed: header.hashSeed, segment: 1, offset: UInt64(range.lowerBound)))
    bytes.replaceSubrange(range, with: record)
    try sandbox.write(Self.first, bytes)
    #expect(try sandbox.check().kinds == [.recordDamaged])
  }

  @Test func `every byte of a journal that is changed is found`() throws {
    let sandbox = try three()
    let bytes = try sandbox.bytes(Self.first)
    for place in stride(from: 0, to: bytes.count, by: 7) {
      var changed = bytes
      changed[place] ^= 0x20
      try sandbox.write(Self.first, changed)
      let kinds = Set(try sandbox.check().kinds)
      #expect(!kinds.isDisjoint(with: [.segmentDamaged, .recordDamaged, .newerFormat]), "\(place)")
      #expect(kinds.isSubset(of: [.segmentDamaged, .recordDamaged, .entryUnrecorded]), "\(place)")
    }
  }

  @Test func `a journal of many segments that was compacted has no finding`() throws {
    let sandbox = CheckSandbox()
    let key = ByteString("a")
    let text = ByteString(bytes: [UInt8](repeating: 65, count: 500_000))
    try sandbox.fill { store in
      try store.put([1], for: "kept")
      for number in 0..<140 {
        try store.put(
          [UInt8(number & 255)], for: key,
          metadata: EntryMetadata(userInfo: [Field("x", text)]))
      }
    }
    #expect(try sandbox.names("journal") != ["00000001.log"])
    #expect(try sandbox.check().findings == [])
  }

  @Test func `a journal that cannot be opened is never clean`() throws {
    let sandbox = try three()
    // The engine does not read the records of entries that are settled.
    try sandbox.flip(Self.first, at: try sandbox.records(Self.first)[1].lowerBound + 60)
    for place in 0..<100 {
      let (files, seen) = (FaultyFiles(), CallCounter())
      files.faults.set { call in
        guard call.kind == .open, call.name == "journal" else { return nil }
        return seen.next() == place ? SystemError(EMFILE) : nil
      }
      let checked = try sandbox.check(fileSystem: files)
      #expect(
        checked.findings.contains { [.unreadable, .recordDamaged].contains($0.kind) }
          || checked.report.partialCause != nil, "\(place)")
      if seen.value <= place { return }
    }
    Issue.record("there are more calls")
  }

  @Test func `a journal that cannot be listed is not missing`() throws {
    let sandbox = try three()
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == "journal" ? .inputOutput : nil }
    let checked = try sandbox.check(fileSystem: files)
    #expect(checked.paths(.unreadable) == ["journal"])
    #expect(checked.paths(.journalMissing) == [])
  }
}
