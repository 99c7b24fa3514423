import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// Repairs of entries that have each other's places. Nothing is lost.
@Suite struct ExchangedEntriesTests {
  enum Exchange: CaseIterable {
    /// Two entries have each other's directories.
    case swap
    /// Each entry has the directory of the one before it in the order of the shards, and the first that of
    /// the last.
    case cycle
    /// The same, and the files of the last one are gone.
    case chain
  }

  private let keys = (0..<7).map { ByteString("\($0)") }

  private func body(_ key: ByteString) -> [UInt8] {
    [UInt8](repeating: UInt8(key.bytes[0]), count: 5000)
  }

  private func kept(_ sandbox: CheckSandbox) throws -> [ByteString] {
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true, createsStore: false))
    defer { store.close() }
    return keys.filter { store.lookUp($0).entry?.body == body($0) }
  }

  /// Makes a store, and returns the directories of its entries in the order of their shards.
  private func fill(
    _ sandbox: CheckSandbox, isEmbedded: Bool = false
  ) throws -> [(key: ByteString, path: String)] {
    try sandbox.fill(settling: isEmbedded ? .within(seconds: 3_600) : .atOnce) { store in
      for key in keys { try store.put(isEmbedded ? [key.bytes[0]] : body(key), for: key) }
    }
    return try keys.map { ($0, try sandbox.directory(of: $0)) }.sorted { $0.1 < $1.1 }
  }

  @Test(arguments: Exchange.allCases, RepairLevel.allCases)
  func `entries that have each other's places are all placed`(
    _ exchange: Exchange, _ level: RepairLevel
  ) throws {
    for (hasJournal, hasLinks) in [(true, true), (false, true), (false, false)] {
      let sandbox = CheckSandbox()
      let places = try fill(sandbox)
      let count = exchange == .swap ? 2 : places.count
      try sandbox.move(places[0].path, to: "../first")
      for number in 1..<count { try sandbox.move(places[number].path, to: places[number - 1].path) }
      let isLost = exchange == .chain
      if !isLost { try sandbox.move("../first", to: places[count - 1].path) }
      if !hasJournal {
        try sandbox.removeTree("journal")
        try sandbox.makeDirectory("journal")
      }
      let files = FaultyFiles()
      if !hasLinks { files.faults.set { $0.kind == .link ? SystemError(EPERM) : nil } }
      let repaired = try sandbox.repair(level, fileSystem: files)
      let note: Comment = "\(hasJournal), \(hasLinks)"
      let misplaced = repaired.kinds.count { $0 == .entryMisplaced }
      #expect(misplaced == (isLost ? count - 1 : count), note)
      #expect(repaired.report.lostEntries == (isLost && hasJournal && level == .all ? 1 : 0), note)
      if !(isLost && hasJournal && level == .safe) {
        #expect(repaired.report.left == 0, note)
        #expect(try sandbox.check(.deep).findings == [], note)
      }
      #expect(try kept(sandbox) == keys.filter { !isLost || $0 != places[0].key }, note)
      #expect(try sandbox.names("quarantine") == [], note)
    }
  }

  @Test(arguments: RepairLevel.allCases)
  func `an entry in the directory of one that is gone is placed`(_ level: RepairLevel) throws {
    let sandbox = CheckSandbox()
    let places = try fill(sandbox)
    try sandbox.removeTree(places[1].path)
    try sandbox.move(places[0].path, to: places[1].path)
    let repaired = try sandbox.repair(level)
    #expect(repaired.report.lostEntries == (level == .all ? 1 : 0))
    #expect(repaired.kinds == [.entryMisplaced, .entryMissing])
    #expect(try kept(sandbox) == keys.filter { $0 != places[1].key })
    if level == .all { #expect(try sandbox.check(.deep).findings == []) }
  }

  @Test func `a look-up for an entry in whose place another one is takes nothing of that`() throws {
    let sandbox = CheckSandbox()
    let places = try fill(sandbox)
    try sandbox.removeTree(places[1].path)
    try sandbox.move(places[0].path, to: places[1].path)
    try sandbox.fill { store in
      #expect(store.lookUp(places[1].key).entry == nil)
      store.waitUntilIdle()
    }
    _ = try sandbox.expectRepaired(.safe)
    #expect(try kept(sandbox) == keys.filter { $0 != places[1].key })
  }

  @Test(arguments: [false, true], RepairLevel.allCases)
  func `a metadata file with the name of another variant is moved to its own`(
    _ isEmbedded: Bool, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let places = try fill(sandbox, isEmbedded: isEmbedded)
    let path = places[0].path
    try sandbox.move("\(path)/0000000000000000.json", to: "\(path)/0000000000000001.json")
    try sandbox.removeTree("journal")
    try sandbox.makeDirectory("journal")
    _ = try sandbox.expectRepaired(level)
    try sandbox.fill { #expect($0.lookUp(places[0].key).entry != nil) }
  }

  @Test func `an entry is moved out of its wrong place before its files are removed there`() throws
  {
    let sandbox = CheckSandbox()
    let places = try fill(sandbox)
    try sandbox.move(places[0].path, to: "../first")
    try sandbox.move(places[1].path, to: places[0].path)
    try sandbox.move("../first", to: places[1].path)
    let original = try sandbox.allFiles()
    for place in 0..<1000 {
      let copy = CheckSandbox()
      try copy.makeDirectory("")
      for file in original {
        var parent = ""
        for part in file.split(separator: "/").dropLast() {
          parent += parent.isEmpty ? String(part) : "/\(part)"
          try? copy.makeDirectory(parent)
        }
        try copy.write(file, try sandbox.bytes(file))
      }
      for part in ["staging", "quarantine"] { try? copy.makeDirectory(part) }
      let (files, calls) = (FaultyFiles(), CallCounter())
      // As after a kill, nothing more is changed.
      files.faults.set { $0.isChange && calls.next() >= place ? .inputOutput : nil }
      _ = try? copy.repair(.all, fileSystem: files)
      #expect(try copy.repair(.all).report.lostEntries == 0, "\(place)")
      #expect(try kept(copy) == keys, "\(place)")
      #expect(try copy.check(.deep).findings == [], "\(place)")
      if calls.value <= place { return }
    }
    Issue.record("there are more calls")
  }
}
