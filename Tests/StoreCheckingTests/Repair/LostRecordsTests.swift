import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// The journal is damaged or cut, and no closing mark says where it ended. No process was killed, so the
/// files of the entries are right.
@Suite struct LostRecordsTests {
  enum Damage: CaseIterable { case flip, cutWithin, cutBefore }

  private let bodies = [9_000, 30_000, 200, 20_000, 1, 70_000].enumerated().map {
    [UInt8](repeating: UInt8($0), count: $1)
  }

  private func fill(_ sandbox: CheckSandbox, _ settling: Settling) throws {
    for (number, body) in bodies.enumerated() {
      try sandbox.fill(settling: settling) { store in
        try store.put(body, for: ByteString("k\(number)"))
        if number == 3 { try store.pin("k0") }
      }
    }
  }

  /// Damages the record with a number.
  ///
  /// - Returns: false if there are not so many.
  private func damage(_ sandbox: CheckSandbox, _ record: Int, _ damage: Damage) throws -> Bool {
    let name = try #require(try sandbox.names("journal").filter { $0.hasSuffix(".log") }.max())
    let segment = "journal/\(name)"
    let records = try sandbox.records(segment)
    guard record < records.count else { return false }
    let (bytes, place) = (try sandbox.bytes(segment), records[record].lowerBound)
    switch damage {
    case .flip: try sandbox.flip(segment, at: place + 20)
    case .cutWithin: try sandbox.write(segment, Array(bytes[..<(place + 20)]))
    case .cutBefore: try sandbox.write(segment, Array(bytes[..<place]))
    }
    try sandbox.remove("lock")
    return true
  }

  @Test func `a segment that its owner may not write is permitted, and keeps its entries`() throws {
    let sandbox = CheckSandbox()
    try fill(sandbox, .within(seconds: 3_600))
    let name = try #require(try sandbox.names("journal").filter { $0.hasSuffix(".log") }.max())
    let segment = "\(sandbox.root)/journal/\(name)"
    #expect(unsafe chmod(segment, 0o400) == 0)
    let files = FaultyFiles()
    let isPermitted = Lock(false)
    // As for a user who is not root.
    files.faults.set { call in
      if call.kind == .changeMode, call.name == name { isPermitted.withLock { $0 = true } }
      let isRefused =
        call.kind == .open && call.name == name && call.options.contains(.write)
        && !isPermitted.withLock { $0 }
      return isRefused ? SystemError(EACCES) : nil
    }
    #expect(throws: StoreError.self) {
      try Store(at: sandbox.root, options: Options(fileSystem: files))
    }
    let repaired = try sandbox.repair(.safe, fileSystem: files)
    #expect(repaired.kinds == [.wrongMode] && repaired.unrepaired == [])
    let store = try Store(at: sandbox.root)
    for (number, body) in bodies.enumerated() {
      #expect(store.lookUp(ByteString("k\(number)")).entry?.body == body)
    }
    store.close()
  }

  /// Makes a store whose journal is older than its files.
  ///
  /// - Parameters:
  ///   - isMarked: whether its mark is as old, so that it looks closed.
  ///   - known: what the journal has of it.
  ///   - later: what it has lost.
  private func fill(
    _ sandbox: CheckSandbox, isMarked: Bool = false, _ known: (Store) throws -> Void,
    losing later: (Store) throws -> Void
  ) throws {
    try sandbox.fill(settling: .within(seconds: 60)) { try known($0) }
    let segment = "journal/" + (try #require(try sandbox.names("journal").first))
    let (journal, mark) = (try sandbox.bytes(segment), try sandbox.bytes("lock"))
    try sandbox.fill(settling: .within(seconds: 60)) { try later($0) }
    try sandbox.write(segment, journal)
    try sandbox.write("lock", isMarked ? mark : [])
  }

  func bodies(_ sandbox: CheckSandbox) throws -> [ByteString: [UInt8]] {
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true))
    defer { store.close() }
    return Dictionary(
      uniqueKeysWithValues: store.entries().map { ($0.key, store.lookUp($0.key).entry?.body ?? []) }
    )
  }

  @Test(arguments: ["zz", "entries/zz"], RepairLevel.allCases)
  func `a copy of what the journal has replaces no newer version`(
    path: String, level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try fill(sandbox) { store in
      try store.put([3], for: "other")
      try store.put([1], for: "a")
      try store.settle()
      try sandbox.copyDirectory(try sandbox.directory(of: "a"), to: "../older")
    } losing: {
      try $0.put([2, 2], for: "a")
    }
    try sandbox.move("../older", to: path)
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try bodies(sandbox) == ["a": [2, 2], "other": [3]])
  }

  @Test(arguments: RepairLevel.allCases)
  func `all entries stay that a journal older than they are does not know`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try fill(sandbox) { store in
      for number in 1...2 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    } losing: { store in
      for number in 3...9 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    }
    _ = try sandbox.repair(level)
    #expect(try bodies(sandbox).count == 9)
    #expect(try sandbox.names("quarantine") == [])
  }

  @Test(arguments: RepairLevel.allCases, [false, true])
  func `entries in wrong places do not take the numbers that prove a loss`(
    level: RepairLevel, isMarked: Bool
  ) throws {
    let sandbox = CheckSandbox()
    try displace(sandbox, isMarked)
    // As that of any process that went on.
    if isMarked { try sandbox.fill { try $0.put([3], for: "later") } }
    #expect(try sandbox.repair(level).report.lostEntries == 0)
    let found = try bodies(sandbox)
    #expect(found.filter { $0.key != "later" } == displaced)
    #expect((found["later"] == [3]) == isMarked)
  }

  private let displaced: [ByteString: [UInt8]] = [
    "a": [1], "b": [2], "c": [2], "new": [2], "newer": [2],
  ]

  /// Fills a store whose journal has lost four entries, and moves two of them.
  private func displace(_ sandbox: CheckSandbox, _ isMarked: Bool) throws {
    try fill(sandbox, isMarked: isMarked) { store in
      for key in ["a", "b", "c"] { try store.put([1], for: ByteString(key)) }
    } losing: { store in
      for key in ["new", "newer", "b", "c"] { try store.put([2], for: ByteString(key)) }
    }
    for key in ["b", "c"] as [ByteString] {
      try sandbox.move(try sandbox.directory(of: key), to: "moved-\(key)")
    }
  }

  /// The proof survives the end of the repair, so that the next one, or the store, knows it.
  @Test(
    arguments: RepairLevel.allCases,
    [(false, false), (true, false), (false, true), (true, true)])
  func `an interrupted repair does not take those numbers either`(
    level: RepairLevel, how: (isOpened: Bool, isMarked: Bool)
  ) throws {
    for number in stride(from: how.isOpened ? 2 : 0, to: 1_000, by: 6) {
      let sandbox = CheckSandbox()
      try displace(sandbox, how.isMarked)
      let strike = CountedFault(after: number, ends: true, .inputOutput, \.isChange)
      let files = FaultyFiles()
      files.faults.set { strike.check($0) }
      _ = try? sandbox.repair(level, fileSystem: files)
      if how.isOpened {
        let store = try Store(at: sandbox.root, options: Options())
        store.waitUntilIdle()
        store.close()
      }
      _ = try sandbox.repair(level)
      let left = try bodies(sandbox)
      #expect(left["new"] == [2] && left["newer"] == [2], "\(number): \(left)")
      if !strike.hasStruck {
        #expect(number > 20)
        return
      }
    }
  }

  /// Where the search of a repair finds an error.
  enum Place: CaseIterable { case key, shard }

  @Test(arguments: [["a"], ["new", "newer"]] as [[ByteString]], Place.allCases)
  func `what cannot be read at first is not lost`(keys: [ByteString], place: Place) throws {
    for (level, next) in [(RepairLevel.all, .all), (.safe, RepairLevel.all)] {
      let sandbox = CheckSandbox()
      try displace(sandbox, false)
      let names = try keys.map { key in
        let parts = try sandbox.directory(of: key).split(separator: "/")
        return Array(try #require(place == .key ? parts.last : parts.dropLast().last).utf8)
      }
      let files = FaultyFiles()
      files.faults.set { call in
        call.kind == .open && names.contains(Array(call.name.utf8)) ? SystemError(ENOMEM) : nil
      }
      let first = try sandbox.repair(level, fileSystem: files)
      #expect(first.report.lostEntries == 0)
      _ = try sandbox.repair(next)
      #expect(try bodies(sandbox) == displaced)
    }
  }

  /// Repairs the store at a level, or uses it.
  private func use(_ sandbox: CheckSandbox, _ level: RepairLevel?, _ files: FaultyFiles) throws {
    if let level {
      _ = try sandbox.repair(level, fileSystem: files)
    } else {
      let store = try Store(at: sandbox.root, options: Options(fileSystem: files))
      store.waitUntilIdle()
      _ = store.lookUp("a")
      store.close()
    }
  }

  @Test(arguments: [.safe, .all, nil] as [RepairLevel?], [.safe, .all, nil] as [RepairLevel?])
  func `the only entry whose record is lost stays though it cannot be read at first`(
    first: RepairLevel?, next: RepairLevel?
  ) throws {
    let sandbox = CheckSandbox()
    try fill(sandbox) { store in
      for key in ["a", "b"] { try store.put([1], for: ByteString(key)) }
    } losing: {
      try $0.put([2], for: "new")
    }
    let shard = try #require(try sandbox.directory(of: "new").split(separator: "/").dropLast().last)
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name == shard ? SystemError(ENOMEM) : nil
    }
    try use(sandbox, first, files)
    files.faults.set(nil)
    try use(sandbox, next, files)
    #expect(try bodies(sandbox) == ["a": [1], "b": [1], "new": [2]])
    #expect(try sandbox.names("staging") == [])
  }

  @Test(arguments: RepairLevel.allCases)
  func `a repair that could not read all does not keep the store from it`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try displace(sandbox, false)
    let names = try (["new", "newer"] as [ByteString]).map { key in
      Array(try #require(try sandbox.directory(of: key).split(separator: "/").last).utf8)
    }
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && names.contains(Array(call.name.utf8)) ? SystemError(ENOMEM) : nil
    }
    _ = try sandbox.repair(level, fileSystem: files)
    try sandbox.fill { store in
      try store.put([3], for: "later")
      store.waitUntilIdle()
      for key in ["new", "newer"] as [ByteString] { #expect(store.lookUp(key).entry?.body == [2]) }
    }
    _ = try sandbox.repair(level)
    #expect(try bodies(sandbox).filter { $0.key != "later" } == displaced)
  }

  @Test(arguments: RepairLevel.allCases, [false, true])
  func `a copy of a removed entry is not placed when the journal is written anew`(
    level: RepairLevel, hasOthers: Bool
  ) throws {
    let sandbox = CheckSandbox()
    try fill(sandbox) { store in
      try store.put([1], for: "removed")
      try store.put([2], for: "other")
      try store.settle()
      try sandbox.copyDirectory(try sandbox.directory(of: "removed"), to: "../copy")
      try store.remove("removed")
    } losing: { store in
      try store.put([3], for: "other")
      try store.put([4], for: "other")
    }
    try sandbox.move("../copy", to: "zz")
    if hasOthers { try sandbox.write("zz/letter.txt", [1]) }
    for _ in 0..<2 {
      _ = hasOthers ? try sandbox.repair(level) : try sandbox.expectRepaired(level)
      #expect(try bodies(sandbox) == ["other": [4]])
    }
  }

  @Test(arguments: [200, 9_000], RepairLevel.allCases)
  func `an entry whose removal is lost does not come back`(count: Int, level: RepairLevel) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { store in
      try store.put([UInt8](repeating: 1, count: count), for: "secret")
      try store.put([UInt8](repeating: 2, count: count), for: "kept")
      try store.settle()
      try store.remove("secret")
      try store.put([3], for: "later")
    }
    let name = try #require(try sandbox.names("journal").first { $0.hasSuffix(".log") })
    // put, put, settled, settled, remove
    let records = try sandbox.records("journal/\(name)")
    try sandbox.flip("journal/\(name)", at: records[4].lowerBound + 20)
    _ = try sandbox.repair(level)
    let store = try Store(at: sandbox.root)
    store.waitUntilIdle()
    #expect(store.info(for: "secret") == nil)
    #expect(store.lookUp("kept").entry?.body == [UInt8](repeating: 2, count: count))
    #expect(store.lookUp("later").entry?.body == [3])
    store.close()
    #expect(try sandbox.check(.deep).findings.isEmpty)
  }

  @Test(arguments: RepairLevel.allCases)
  func `a variant without a file of its own before a damage of the journal is given up by all`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.remove(try RepairCase.metadata(sandbox, "variants"))
    let records = try sandbox.records("journal/00000001.log")
    try sandbox.flip("journal/00000001.log", at: records[records.count - 1].lowerBound + 20)
    let forecast = try sandbox.forecast(.deep)
    let repaired = try sandbox.repair(level)
    #expect(forecast.report.lostEntries == 1)
    if level == .safe {
      #expect(repaired.report.lostEntries == 0)
      #expect(repaired.unrepaired.map(\.kind).contains(.metadataMissing))
      #expect(try sandbox.repair(.all).report.lostEntries == 1)
    } else {
      #expect(repaired.report.lostEntries == 1 && repaired.unrepaired == [])
    }
    #expect(try sandbox.check(.deep).findings == [])
    let lost = RepairModel.Place(key: "variants", variant: 0)
    #expect(try sandbox.kept(model) == model.all.filter { $0 != lost })
  }

  @Test(arguments: Damage.allCases, [false, true])
  func `all entries are recovered`(damage: Damage, isRepaired: Bool) throws {
    for settling in [Settling.within(seconds: 3_600), .atOnce] {
      try recover(damage, settling, isRepaired)
    }
  }

  private func recover(_ damage: Damage, _ settling: Settling, _ isRepaired: Bool) throws {
    for record in 0... {
      let note = "record \(record)"
      let sandbox = CheckSandbox()
      try fill(sandbox, settling)
      guard try self.damage(sandbox, record, damage) else {
        #expect(record > 6)
        break
      }
      if isRepaired { _ = try sandbox.repair(.safe) }
      let store = try Store(at: sandbox.root, options: Options())
      store.waitUntilIdle()
      for (number, body) in bodies.enumerated() {
        #expect(
          store.lookUp(ByteString("k\(number)")).entry?.body == body, "k\(number), \(note)")
      }
      #expect(store.info(for: "k0")?.isPinned == true, "\(note)")
      store.close()
      #expect(try sandbox.check(.deep).findings.map(\.kind) == [], "\(note)")
    }
  }
}
