import CacheFormat
import CacheSystem
import Foundation
import Synchronization
import Testing

@testable import CacheStore

/// What a crash, a loss of power or somebody's old copy takes back of the tree or of the journal.
@Suite struct LostChangesTests {
  let sandbox = StoreSandbox()

  /// Makes the store look as if a process had been killed in it.
  private func plantDeadSession(file: String? = nil) throws {
    let directory = sandbox.inside("staging/00000000000000aa")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    guard let file else { return }
    try Data(repeating: 1, count: 100).write(to: URL(filePath: "\(directory)/\(file)"))
  }

  /// Opens the store in a run of the machine; without comparing tree and journal, if asked.
  private func open(boot: UInt8, comparing: Bool = true) throws -> Store {
    var options = Options()
    options.bootName = [boot]
    options.isSupervised = !comparing
    return try sandbox.open(options, settling: .within(seconds: 3_600))
  }

  /// Stores bodies under "0" and so on, and takes their records back, as a loss of power does.
  private func loseRecords(of bodies: [[UInt8]]) throws {
    let store = try open(boot: 1)
    try store.put([0], for: "first")
    let segment = try #require(sandbox.segments.first)
    let journal = sandbox.bytes(segment)
    for (number, body) in bodies.enumerated() { try store.put(body, for: "\(number)") }
    store.close()
    sandbox.overwrite(segment, journal)
    try plantDeadSession()
  }

  /// A change of metadata, whose rename is lost.
  enum Change: CaseIterable {
    case pin, note, field, expiry, tag

    func make(_ store: Store) throws {
      switch self {
      case .pin: try store.pin("k")
      case .note: try store.update("k") { $0.userInfo = [Field("note", "new")] }
      case .field: try store.update("k") { $0.fields = [Field("etag", "\"2\"")] }
      case .expiry: try store.update("k") { $0.expires = Timestamp(nanoseconds: 77) }
      case .tag: try store.update("k") { $0.tags = ["new"] }
      }
    }
  }

  @Test(arguments: Change.allCases)
  func `a change whose rename was lost reaches the tree again`(change: Change) throws {
    let store = try sandbox.open()
    try store.put([1, 2, 3], for: "k")
    let file = try #require(sandbox.metadataFiles.first)
    let old = sandbox.bytes(file)
    try change.make(store)
    let info = store.info(for: "k")
    store.close()
    sandbox.overwrite(file, old)
    try plantDeadSession()
    let again = try sandbox.open()
    again.waitUntilIdle()
    again.close()
    // The tree alone tells it now.
    for segment in sandbox.segments { sandbox.remove(segment) }
    let last = try sandbox.open()
    last.waitUntilIdle()
    let found = last.info(for: "k")
    #expect(found?.isPinned == info?.isPinned)
    #expect(found?.metadata == info?.metadata)
  }

  /// What stands in `lock` when an old journal is put back.
  enum Mark: CaseIterable { case new, old, none }

  @Test(arguments: Mark.allCases)
  func `an older copy of the journal does not bring old versions back`(mark: Mark) throws {
    let store = try sandbox.open()
    for number in 0..<20 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    store.close()
    let journal = sandbox.segments.map { ($0, sandbox.bytes($0)) }
    let lock = sandbox.bytes("lock")
    let newer = try sandbox.open()
    for number in 0..<10 { try newer.put([UInt8(100 + number)], for: ByteString("k\(number)")) }
    for number in 20..<30 { try newer.put([UInt8(number)], for: ByteString("k\(number)")) }
    try newer.pin("k15")
    newer.close()
    for segment in sandbox.segments { sandbox.remove(segment) }
    for (name, bytes) in journal { try Data(bytes).write(to: URL(filePath: sandbox.inside(name))) }
    switch mark {
    case .new: break
    case .old: sandbox.overwrite("lock", lock)
    case .none: sandbox.overwrite("lock", [])
    }
    // With the old mark all looks as it should; after a restart of the machine it is compared.
    var options = Options()
    if mark == .old { options.bootName = [1] }
    let last = try sandbox.open(options)
    last.waitUntilIdle()
    for number in 0..<30 {
      let expected = number < 10 ? 100 + number : number
      #expect(
        last.lookUp(ByteString("k\(number)")).entry?.body == [UInt8(expected)], "k\(number)")
    }
    #expect(last.info(for: "k15")?.isPinned == true)
    #expect(last.statistics.isComplete)
    last.close()
    let clean = try sandbox.open(options)
    #expect(clean.statistics.journalDamages == 0)
    #expect(clean.statistics.entries == 30)
  }

  /// `noticesFirst`: the process that stores notices the loss itself, and leaves a gap in the journal.
  @Test(arguments: [false, true])
  func `what was stored since a restart is not in doubt when others find a loss`(
    noticesFirst: Bool
  ) throws {
    let bodies = (0..<5).map { TestBody.make(30_000, seed: UInt64($0)) }
    try loseRecords(of: bodies)
    let user = try open(boot: 2, comparing: false)
    try user.put([1], for: "next")
    let other = try open(boot: 2, comparing: false)
    if noticesFirst {
      let lost = user.catalog.state.withLock { $0.journal.sequence } + 4
      try user.catalog.writer.noteLostRecords(through: lost)
      try user.put([2], for: "gap")
    }
    other.recovery.reconcile()
    #expect(other.statistics.isComplete)
    for store in [user, other] {
      #expect(store.lookUp("first").entry?.body == [0])
      #expect(store.lookUp("next").entry?.body == [1])
      for (number, body) in bodies.enumerated() {
        #expect(store.lookUp("\(number)").entry?.body == body)
      }
      store.close()
    }
  }

  /// Its file has a higher number than the record of what is stored, because numbers of lost records
  /// are given out again.
  @Test(arguments: [1, 30_000])
  func `what is stored after a restart is not replaced by a version whose record is lost`(
    count: Int
  ) throws {
    let bodies = (0..<5).map { TestBody.make(30_000, seed: UInt64($0)) }
    try loseRecords(of: bodies)
    let user = try open(boot: 2, comparing: false)
    let body = TestBody.make(count, seed: 77)
    try user.put(body, for: "4")
    #expect(try user.remove("3") > 0)
    let other = try open(boot: 2)
    other.waitUntilIdle()
    for store in [user, other] {
      #expect(store.lookUp("4").entry?.body == body)
      #expect(store.lookUp("3").entry == nil)
      #expect(store.lookUp("2").entry?.body == bodies[2])
      store.close()
    }
  }

  /// Without a mark of this run of the machine, the power may have failed. The records after the damage
  /// need not be on disk then, but the files are.
  /// `isUsed`: the next process stores an entry, and ends before it has compared tree and journal.
  @Test(arguments: 0..<11, [false, true])
  func `damage of the journal costs no file of an entry after a restart`(
    record: Int, isUsed: Bool
  ) throws {
    let counts = [9_000, 30_000, 200, 20_000, 1, 70_000]
    let bodies = counts.enumerated().map { TestBody.make($1, seed: UInt64($0)) }
    let folder = JournalFolder()
    func open(boot: UInt8, comparing: Bool = true) throws -> Store {
      var options = Options(settling: .within(seconds: 3_600))
      options.bootName = [boot]
      options.isSupervised = !comparing
      return try Store(at: folder.path, options: options)
    }
    for (number, body) in bodies.enumerated() {
      let store = try open(boot: 1)
      try store.put(body, for: ByteString("k\(number)"))
      if number == 3 { try store.pin("k0") }
      try store.settle()
      store.close()
    }
    let segment = try #require(folder.segments.last)
    var bytes = folder.bytes(segment)
    let records = folder.records(in: segment)
    #expect(records.count == 11)
    bytes[records[record].offset + 20] ^= 1
    try folder.write(bytes, to: segment)
    if isUsed {
      let next = try open(boot: 2, comparing: false)
      try next.put([1, 2], for: "next")
      next.close()
    } else {
      try FileManager.default.removeItem(atPath: folder.path + "/lock")
    }
    let store = try open(boot: 2)
    store.waitUntilIdle()
    for (number, body) in bodies.enumerated() {
      #expect(store.lookUp(ByteString("k\(number)")).entry?.body == body, "k\(number)")
    }
    #expect(store.info(for: "k0")?.isPinned == true)
    #expect(store.statistics.isComplete)
    store.close()
    let again = try open(boot: 2)
    #expect(again.statistics.entries == counts.count + (isUsed ? 1 : 0))
    #expect(again.statistics.journalDamages == 0)
    again.close()
  }

  /// A segment that others follow has lost its last records and its seal. The sessions are those of
  /// processes that were killed, so that a torn end alone would be no sign of loss.
  @Test(arguments: [false, true])
  func `a torn end before other segments costs no file of an entry after a restart`(
    isUsed: Bool
  ) throws {
    let bodies = (0..<5).map { TestBody.make(30_000 + $0, seed: UInt64($0)) }
    let store = try open(boot: 1)
    try store.put([0], for: "removed")
    for (number, body) in bodies.enumerated() { try store.put(body, for: ByteString("k\(number)")) }
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    try store.remove("removed")
    store.close()
    let segments = sandbox.segments.sorted()
    #expect(segments.count == 2)
    sandbox.overwrite(segments[0], Array(sandbox.bytes(segments[0]).dropLast(150)))
    try plantDeadSession()
    if isUsed {
      let next = try open(boot: 2, comparing: false)
      try next.put([1, 2], for: "next")
      next.close()
    }
    let again = try open(boot: 2)
    again.waitUntilIdle()
    for (number, body) in bodies.enumerated() {
      #expect(again.lookUp(ByteString("k\(number)")).entry?.body == body, "k\(number)")
    }
    again.close()
  }

  @Test func `a look-up that finds a newer version tells that the journal is an older copy`() throws
  {
    let store = try sandbox.open()
    for number in 0..<9 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    store.close()
    let journal = sandbox.segments.map { ($0, sandbox.bytes($0)) }
    let lock = sandbox.bytes("lock")
    let newer = try sandbox.open()
    for number in 0..<9 { try newer.put([UInt8(100 + number)], for: ByteString("k\(number)")) }
    newer.close()
    for (name, bytes) in journal { try Data(bytes).write(to: URL(filePath: sandbox.inside(name))) }
    sandbox.overwrite("lock", lock)
    // All looks as it should, so nothing is compared, until the body of an old version is missing.
    let last = try sandbox.open()
    _ = last.lookUp("k4")
    last.waitUntilIdle()
    for number in 0..<9 {
      #expect(last.lookUp(ByteString("k\(number)")).entry?.body == [UInt8(100 + number)])
    }
    last.close()
    let clean = try sandbox.open()
    #expect(clean.statistics.journalDamages == 0)
    #expect(clean.statistics.isComplete)
  }

  /// Power cuts leave the metadata file of a killed process without its bytes, or with a part.
  @Test(arguments: [0, 100, 4096])
  func `a torn metadata file that no record names goes with its body`(length: Int) throws {
    let store = try sandbox.open()
    try store.put([1], for: "kept")
    let before = sandbox.metadataFiles
    let fields = [Field("note", ByteString(String(repeating: "x", count: 6000)))]
    try store.put([2, 3], for: "torn", metadata: EntryMetadata(fields: fields))
    store.close()
    let file = try #require(Set(sandbox.metadataFiles).subtracting(before).first)
    var bytes = sandbox.bytes(file)
    // The first page was not written, or the end.
    if length == 4096 {
      for place in 0..<length { bytes[place] = 0 }
    } else {
      bytes = Array(bytes[..<length])
    }
    sandbox.overwrite(file, bytes)
    for segment in sandbox.segments { sandbox.remove(segment) }
    try plantDeadSession()
    let again = try sandbox.open()
    again.waitUntilIdle()
    #expect(again.lookUp("kept").entry?.body == [1])
    #expect(sandbox.metadataFiles == before)
    #expect(sandbox.bodies.count == 1)
  }

  @Test func `a program that ends at once clears what a killed one has left`() throws {
    let store = try sandbox.open()
    try store.put([1], for: "k")
    store.close()
    try plantDeadSession(file: "0000000000000001")
    try Data([1, 2]).write(to: URL(filePath: sandbox.inside("journal/new")))
    let reader = try sandbox.open()
    #expect(reader.lookUp("k").entry?.body == [1])
    reader.close()
    #expect(sandbox.sessions == [])
    #expect(FileFacts(sandbox.inside("journal/new")) == nil)
  }

  @Test(arguments: [0, 10])
  func `a tag for backups that was cut is written again`(length: Int) throws {
    let store = try sandbox.open()
    store.close()
    let text = sandbox.bytes("CACHEDIR.TAG")
    sandbox.overwrite("CACHEDIR.TAG", Array(text.prefix(length)))
    try sandbox.open().close()
    #expect(sandbox.bytes("CACHEDIR.TAG") == text)
    sandbox.overwrite("CACHEDIR.TAG", text + [0x41])
    try sandbox.open().close()
    #expect(sandbox.bytes("CACHEDIR.TAG") == text + [0x41])
  }

  @Test func `leftovers of a run of the machine before are removed`() throws {
    var options = Options()
    options.bootName = [1]
    let store = try sandbox.open(options)
    try store.put([1], for: "k")
    store.close()
    // The removal of a file that did not reach the disk.
    let orphan = sandbox.bodies[0].replacingOccurrences(of: ".body", with: "")
    let left = String(orphan.dropLast(32)) + String(repeating: "a", count: 32) + ".body"
    try Data([7]).write(to: URL(filePath: sandbox.inside(left)))
    options.bootName = [2]
    let again = try sandbox.open(options)
    again.waitUntilIdle()
    #expect(sandbox.bodies.count == 1)
    #expect(again.lookUp("k").entry?.body == [1])
  }
}
