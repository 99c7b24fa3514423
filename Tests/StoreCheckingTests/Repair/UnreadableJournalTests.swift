import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

@testable import CacheStore

/// Checks and repairs while the system cannot read the journal, or a part of it.
@Suite struct UnreadableJournalTests {
  private let sandbox = CheckSandbox()
  private let files = FaultyFiles()

  private func body(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 9_000) }

  private struct Filled {
    /// The keys in the order of their shards.
    var keys: [ByteString] = []
    /// The metadata file of a removed variant of the first key.
    var leftover: (path: String, bytes: [UInt8]) = ("", [])
  }

  private func fill() throws -> Filled {
    var filled = Filled()
    try sandbox.fill { store in
      filled.keys = (0..<12).map { ByteString("k\($0)") }.sorted {
        Layout.shardNumber(of: store.catalog.hash($0))
          < Layout.shardNumber(of: store.catalog.hash($1))
      }
      for (number, key) in filled.keys.enumerated() { try store.put(body(number), for: key) }
      try store.put(body(99), for: filled.keys[0], variant: 7)
      let path = "entries/\(Layout.metadataPath(store.catalog.hash(filled.keys[0]), 7).text)"
      filled.leftover = (path, try sandbox.bytes(path))
      try store.remove(filled.keys[0], variant: 7)
    }
    return filled
  }

  /// Leaves what a process leaves that is killed.
  private func makeUnclean(_ filled: Filled) throws {
    try sandbox.write(filled.leftover.path, filled.leftover.bytes)
    try sandbox.makeDirectory("staging/00000000000000aa")
  }

  private func expectWhole(
    _ filled: Filled, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let store = try Store(at: sandbox.root, options: Options())
    store.waitUntilIdle()
    for (number, key) in filled.keys.enumerated() {
      #expect(
        store.lookUp(key).entry?.body == body(number), "\(number)", sourceLocation: sourceLocation)
    }
    store.close()
  }

  // MARK: Nothing is decided

  @Test(arguments: RepairLevel.allCases)
  func `a repair ends when a segment can no longer be opened`(level: RepairLevel) throws {
    let filled = try fill()
    try makeUnclean(filled)
    let opened = Monitor(0)
    files.faults.set { call in
      // Segments are created under a temporary name.
      guard call.kind == .open, call.name.hasSuffix(".log"), call.options.contains(.write)
      else { return nil }
      return opened.change { count in
        count += 1
        return count > 1 ? SystemError(EACCES) : nil
      }
    }
    #expect(throws: CheckError.self) { try sandbox.repair(level, .quick, fileSystem: files) }
    #expect(opened.change { $0 } > 1)
    try expectWhole(filled)
  }

  /// Stores an entry when the first finding is told. From then on the journal cannot be read.
  private final class Neighbour: CheckObserver {
    private let store: Store
    private let key: ByteString
    private let files: FaultyFiles
    private let isDone = Monitor(false)

    init(_ store: Store, _ key: ByteString, _ files: FaultyFiles) {
      (self.store, self.key, self.files) = (store, key, files)
    }

    func progressed(_ progress: CheckProgress) {}
    func found(_ finding: Finding) {
      let isFirst = isDone.change { isDone in
        defer { isDone = true }
        return !isDone
      }
      guard isFirst else { return }
      _ = try? store.put([UInt8](repeating: 77, count: 9_000), for: key, variant: 8)
      files.faults.set {
        $0.kind == .read && $0.name.hasSuffix(".log") ? .inputOutput : nil
      }
    }
  }

  @Test(arguments: [nil, .safe, .all] as [RepairLevel?])
  func `what a neighbour has just stored stays if its record cannot be read`(
    level: RepairLevel?
  ) throws {
    let filled = try fill()
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    store.waitUntilIdle()
    try makeUnclean(filled)
    var options = CheckOptions(repair: level, jobs: 1)
    options.fileSystem = files
    let checker = StoreChecker(at: sandbox.root, options: options)
    let key = filled.keys[11]
    #expect(throws: CheckError.self) { try checker.run(Neighbour(store, key, files)) }
    #expect(store.lookUp(key, variant: 8).entry?.body == [UInt8](repeating: 77, count: 9_000))
    store.close()
    try expectWhole(filled)
  }

  // MARK: A bad sector

  /// The whole journal but the heads of its segments cannot be read.
  private func spoilJournal() {
    files.faults.set {
      $0.kind == .read && $0.name.hasSuffix(".log") && $0.offset > 0 ? .inputOutput : nil
    }
  }

  @Test(arguments: [false, true])
  func `a check reports no damage but the journal that it cannot read`(isUnclean: Bool) throws {
    let filled = try fill()
    if isUnclean { try makeUnclean(filled) }
    spoilJournal()
    let kinds = Set(try sandbox.check(.deep, fileSystem: files).kinds)
    #expect(
      kinds.subtracting([.stagingLeft]) == [.unreadable, .entryUnrecorded], "\(kinds)")
    files.faults.set(nil)
    try expectWhole(filled)
  }

  @Test(arguments: RepairLevel.allCases, [false, true])
  func `a repair gives up what cannot be read of the journal, and no entry`(
    level: RepairLevel, isUnclean: Bool
  ) throws {
    let filled = try fill()
    if isUnclean { try sandbox.makeDirectory("staging/00000000000000aa") }
    spoilJournal()
    let repaired = try sandbox.repair(level, fileSystem: files)
    #expect(repaired.report.lostEntries == 0)
    #expect(repaired.report.partialCause == nil)
    files.faults.set(nil)
    try expectWhole(filled)
    #expect(try sandbox.check(.deep).findings == [])
  }

  // MARK: Single records

  /// Fills the store with one entry whose record still has the body.
  private func fillLogged(_ body: [UInt8]) throws {
    try sandbox.fill(settling: .within(seconds: 3_600)) { try $0.put(body, for: "a") }
  }

  @Test func `a body whose record cannot be read once is not given up`() throws {
    try fillLogged(body(1))
    try sandbox.remove(try sandbox.body())
    // The repair opens the body before it reads the record.
    let state = Monitor((isTried: false, hasFailed: false))
    files.faults.set { call in
      state.change { state in
        if call.kind == .open, call.name.hasSuffix(".body") { state.isTried = true }
        guard call.kind == .read, call.name.hasSuffix(".log"), state.isTried, !state.hasFailed
        else { return nil }
        state.hasFailed = true
        return .inputOutput
      }
    }
    let repaired = try sandbox.repair(.all, .quick, fileSystem: files)
    #expect(state.change { $0.hasFailed })
    #expect(repaired.report.lostEntries == 0 && repaired.report.left == 0)
    #expect(try sandbox.check(.deep).findings == [])
    let store = try Store(at: sandbox.root, options: Options())
    #expect(store.lookUp("a").entry?.body == body(1))
    store.close()
  }

  @Test func `a body whose record cannot be read is not forecast as lost`() throws {
    try fillLogged(body(1))
    try sandbox.remove(try sandbox.body())
    let segment = "journal/" + (try #require(try sandbox.names("journal").last))
    let record = Int64(try #require(try sandbox.records(segment).first).lowerBound)
    // The journal is read first.
    let isRead = Monitor(false)
    files.faults.set { call in
      isRead.change { isRead in
        if call.kind == .open, call.name.hasSuffix(".json"), call.name != "store.json" {
          isRead = true
        }
        let isRecord =
          call.kind == .read && call.name.hasSuffix(".log") && call.offset == record
        return isRead && isRecord ? .inputOutput : nil
      }
    }
    let forecast = try sandbox.forecast(.quick, fileSystem: files)
    #expect(forecast.kinds == [.bodyMissing] && forecast.report.lostEntries == 0)
  }

  @Test(arguments: [nil, .all] as [RepairLevel?])
  func `a record in the log that cannot be read is no damage`(level: RepairLevel?) throws {
    // A store that is open has entries in the log.
    let store = try Store(at: sandbox.root, options: Options(settling: .within(seconds: 3_600)))
    defer { store.close() }
    try store.put(body(1), for: "a")
    try store.put(body(2), for: "b")
    let offset = try #require(store.catalog.slot(store.catalog.hash("b"), 0)).offset
    // The journal is read from its beginning.
    files.faults.set {
      $0.kind == .read && $0.name.hasSuffix(".log") && $0.offset == Int64(offset)
        ? .inputOutput : nil
    }
    let checked =
      try level.map { try sandbox.repair($0, fileSystem: files) }
      ?? sandbox.check(.deep, fileSystem: files)
    #expect(checked.report.unsettled == 2)
    #expect(checked.kinds == [.unreadable])
    #expect(store.lookUp("b").entry?.body == body(2))
  }

  // MARK: Entries whose record has the body

  @Test func `a safe repair writes the files of an entry again whose record has the body`() throws {
    let small = [UInt8](repeating: 5, count: 180)
    try fillLogged(small)
    try sandbox.remove(try sandbox.metadata())
    var options = CheckOptions()
    options.forecast = .safe
    let listener = Listener()
    _ = try StoreChecker(at: sandbox.root, options: options).run(listener)
    #expect(listener.findings.map(\.kind) == [.entryMissing])
    #expect(listener.findings.map(\.isException) == [true])
    let repaired = try sandbox.repair(.safe, .quick)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 0)
    #expect(try sandbox.check(.deep).findings == [])
    let store = try Store(at: sandbox.root, options: Options())
    #expect(store.lookUp("a").entry?.body == small)
    store.close()
  }
}
