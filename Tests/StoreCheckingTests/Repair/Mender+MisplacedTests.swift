import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

@Suite struct MenderMisplacedTests {
  /// How a directory of a key gets to another place.
  enum Displacement: CaseIterable {
    case moved, movedToLaterShard, copied, copiedBesideAnother, movedOneLevelDown
  }

  @Test(arguments: Displacement.allCases, RepairLevel.allCases)
  func `a directory of two variants at a wrong place leaves nothing behind`(
    _ displacement: Displacement, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "variants")
    let last = directory.hasSuffix("00") ? "11" : "00"
    var target = String(directory.dropLast(2)) + last
    if displacement == .copiedBesideAnother { target = directory + "x" }
    if displacement == .movedToLaterShard {
      let shard = directory.hasPrefix("entries/ff/") ? "entries/fe" : "entries/ff"
      if try !sandbox.names("entries").contains(String(shard.suffix(2))) {
        try sandbox.makeDirectory(shard)
      }
      target = shard + directory.dropFirst(shard.count)
    }
    if displacement == .movedOneLevelDown {
      try sandbox.makeDirectory("entries/backup")
      target = "entries/backup/x"
    }
    switch displacement {
    case .moved, .movedToLaterShard, .movedOneLevelDown: try sandbox.move(directory, to: target)
    case .copied, .copiedBesideAnother: try sandbox.copyDirectory(directory, to: target)
    }
    let repaired = try sandbox.expectRepaired(level)
    // What is only in another place is neither missing nor lost.
    #expect(!repaired.kinds.contains(.entryMissing))
    #expect(repaired.findings.reduce(0) { $0 + $1.lostEntries } == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: RepairLevel.allCases)
  func `a copy of what was removed does not come back from a wrong place`(
    level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    try sandbox.copyDirectory(directory, to: directory + "x")
    try sandbox.fill { try $0.remove("single2") }
    _ = try sandbox.expectRepaired(level)
    // It may be the only copy.
    #expect(try sandbox.names("quarantine").count == 1)
    #expect(try sandbox.kept(model).count == model.all.count - 1)
  }

  @Test func `a safe repair leaves what is beside an entry in a foreign directory`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    let target = directory + "x"
    try sandbox.move(directory, to: target)
    try sandbox.write("\(target)/letter.txt", [1])
    let bodies = try sandbox.names(target).filter { $0.hasSuffix(".body") }
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.unrepaired.map(\.kind) == [.foreignFile])
    #expect(repaired.kinds.contains(.entryMisplaced))
    #expect(try sandbox.check(.deep).paths(.foreignFile) == [target])
    #expect(try sandbox.names("quarantine").isEmpty)
    #expect(try sandbox.names(target) == (bodies + ["letter.txt"]).sorted())
    #expect(try sandbox.kept(model) == model.all)
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: [false, true])
  func `a body beside a damaged metadata file stays where it is`(isForeign: Bool) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    let target =
      isForeign
      ? directory + "x" : directory.dropLast(2) + (directory.hasSuffix("00") ? "11" : "00")
    try sandbox.move(directory, to: target)
    try sandbox.write("\(target)/00000000000000ff.json", [1, 2, 3])
    let body = try #require(try sandbox.names(target).first { $0.hasSuffix(".body") })
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.unrepaired.map(\.kind) == [isForeign ? .foreignFile : .metadataDamaged])
    #expect(try sandbox.names(target) == ["00000000000000ff.json", body].sorted())
    #expect(try sandbox.kept(model) == model.all)
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.kept(model) == model.all)
  }

  /// What is wrong with an entry of which a whole copy is elsewhere.
  enum Damage: CaseIterable {
    case cutBody, cutBodyWithoutMetadata, cutBodyWithoutRecord
  }

  @Test(arguments: Damage.allCases, RepairLevel.allCases)
  func `a body that is damaged is replaced by that of a copy in a foreign directory`(
    _ damage: Damage, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    try sandbox.copyDirectory(directory, to: "entries/read first")
    try self.damage("single5", of: sandbox, damage)
    let repaired = try sandbox.expectRepaired(level)
    #expect(repaired.report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
    #expect(try sandbox.names("quarantine") == [])
  }

  @Test(arguments: Damage.allCases, ["00", "ff"])
  func `a body that is damaged is replaced by that of a copy in the directory of another key`(
    _ damage: Damage, _ shard: String
  ) throws {
    for level in RepairLevel.allCases { try repair(damage, level, fromShard: shard) }
  }

  private func repair(_ damage: Damage, _ level: RepairLevel, fromShard shard: String) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let key = try copyAnEntry(toShard: shard, of: sandbox)
    try self.damage(key, of: sandbox, damage)
    let repaired = try sandbox.expectRepaired(level)
    #expect(repaired.report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
    // Without a journal, nothing is spared for a later shard.
    if shard == "00" || damage != .cutBodyWithoutRecord {
      #expect(try sandbox.names("quarantine") == [])
    }
  }

  /// Copies the directory of a key to a shard that is checked before or after that of the key.
  private func copyAnEntry(toShard shard: String, of sandbox: CheckSandbox) throws -> ByteString {
    let candidates = ["single3", "single5", "single7"] as [ByteString]
    let key = try #require(
      try candidates.first { try !sandbox.directory(of: $0).hasPrefix("entries/\(shard)/") })
    let directory = try sandbox.directory(of: key)
    if try !sandbox.names("entries").contains(shard) {
      try sandbox.makeDirectory("entries/\(shard)")
    }
    try sandbox.copyDirectory(directory, to: "entries/\(shard)" + directory.dropFirst(10))
    return key
  }

  private func damage(_ key: ByteString, of sandbox: CheckSandbox, _ damage: Damage) throws {
    try sandbox.cut(try RepairCase.body(sandbox, key), by: 1)
    switch damage {
    case .cutBody: break
    case .cutBodyWithoutMetadata: try sandbox.remove(try RepairCase.metadata(sandbox, key))
    case .cutBodyWithoutRecord:
      try sandbox.removeTree("journal")
      try sandbox.makeDirectory("journal")
    }
  }

  /// Makes a store with a damaged entry of which a foreign directory has an older version.
  private func sandboxWithOlderCopy() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    try sandbox.copyDirectory(directory, to: "entries/read first")
    try sandbox.fill { try $0.put([1, 2, 3], for: "single5") }
    try sandbox.cut(try RepairCase.body(sandbox, "single5"), by: 1)
    return sandbox
  }

  @Test func `a safe repair leaves an older copy of an entry that is damaged`() throws {
    let sandbox = try sandboxWithOlderCopy()
    let left = try sandbox.repair(.safe).unrepaired.map(\.kind)
    #expect(Set(left) == [.bodyShort, .entryMisplaced])
    #expect(try sandbox.names("quarantine") == [])
  }

  @Test(arguments: [RepairLevel.safe, .all])
  func `an older copy of an entry that was given up is not brought back`(level: RepairLevel) throws
  {
    let sandbox = try sandboxWithOlderCopy()
    try sandbox.fill { store in
      #expect(store.lookUp("single5").entry == nil)
      store.waitUntilIdle()
    }
    _ = try sandbox.repair(level)
    try sandbox.fill { #expect($0.lookUp("single5").entry == nil) }
  }

  @Test func `a copy beside files without a record is the only one`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.forget("single5")
    try sandbox.move("../away", to: directory)
    try sandbox.copyDirectory(directory, to: "entries/read first")
    // The files without a record are removed as those of a killed process.
    try sandbox.makeDirectory("staging/0123456789abcdef")
    _ = try sandbox.expectRepaired(.safe)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `more entries in a foreign directory than are read of a key are all placed`() throws {
    let sandbox = CheckSandbox()
    let numbers = 0..<UInt64(KeyScene.maximumExtras + 10)
    // The bodies are in the metadata files.
    try sandbox.fill(settling: .within(seconds: 3_600)) { store in
      for number in numbers { try store.put([1], for: "\(number)", variant: number) }
    }
    try sandbox.makeDirectory("entries/x")
    for file in try sandbox.files(".json") {
      try sandbox.move(file, to: "entries/x/\(file.suffix(21))")
    }
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.names("quarantine") == [])
    try sandbox.fill { store in
      #expect(numbers.allSatisfy { store.lookUp("\($0)", variant: $0).entry?.body == [1] })
    }
  }

  @Test(arguments: [EPERM, EMLINK, ENOTSUP, EXDEV], RepairLevel.allCases)
  func `without hard links an entry is copied to its place`(
    _ code: Int32, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    try sandbox.move(directory, to: directory + "x")
    let files = FaultyFiles()
    files.faults.set { $0.kind == .link ? SystemError(code) : nil }
    let repaired = try sandbox.repair(level, fileSystem: files)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 0)
    #expect(try sandbox.names("quarantine") == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  /// What stands in the place of an entry that has no record.
  enum Standing: CaseIterable { case files, damagedMetadata, nothing }

  @Test(arguments: Standing.allCases, ["backup", "backup/x"])
  func `a whole copy takes the place of files without a record`(
    _ standing: Standing, _ place: String
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.forget("single5")
    try sandbox.move("../away", to: directory)
    if place.contains("/") { try sandbox.makeDirectory("entries/backup") }
    try sandbox.copyDirectory(directory, to: "entries/\(place)")
    switch standing {
    case .files: break
    case .damagedMetadata: try sandbox.flip(try RepairCase.metadata(sandbox, "single5"), at: 120)
    case .nothing: try sandbox.removeTree(directory)
    }
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `an entry waits until the files of another key have left its place`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    try sandbox.move(directory, to: "entries/read first")
    try sandbox.copyDirectory(try sandbox.directory(of: "single3"), to: directory)
    try sandbox.removeTree("journal")
    try sandbox.makeDirectory("journal")
    // A pass may have left it to the next one.
    #expect(try sandbox.repair().report.left == 0)
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: ["00", "ff"])
  func `a whole copy at the place of another key takes that of a damaged metadata file`(
    _ shard: String
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let key = try copyAnEntry(toShard: shard, of: sandbox)
    try sandbox.flip(try RepairCase.metadata(sandbox, key), at: 120)
    try sandbox.removeTree("journal")
    try sandbox.makeDirectory("journal")
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: ["no file", "no body", "copy at the place"], RepairLevel.allCases)
  func `the body in a metadata file becomes a body file if the record has one`(
    _ damage: String, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { try $0.put([1, 2, 3], for: "a") }
    let directory = try sandbox.directory(of: "a")
    try sandbox.copyDirectory(directory, to: "entries/copy")
    try sandbox.fill { store in
      try store.put([9], for: "a")
      try store.put([1, 2, 3], for: "a")
      try store.purge()
    }
    let body = try RepairCase.body(sandbox, "a")
    switch damage {
    case "no file": try sandbox.removeTree(directory)
    case "no body": try sandbox.remove(body)
    default:
      try sandbox.remove(body)
      try sandbox.move(
        "entries/copy/0000000000000000.json", to: "\(directory)/0000000000000000.json")
      try sandbox.removeTree("entries/copy")
    }
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try sandbox.bytes(body) == [1, 2, 3])
    try sandbox.fill { #expect($0.lookUp("a").entry?.body == [1, 2, 3]) }
  }

  @Test(arguments: [0, 1, 2, 3])
  func `what a kill leaves of a directory whose entry was placed is removed`(_ place: Int) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.move(try sandbox.directory(of: "single5"), to: "copy")
    let (files, calls) = (FaultyFiles(), CallCounter())
    files.faults.set { call in
      let isRemoval = call.kind == .removeFile && call.name.contains(".")
      let isOfCopy = isRemoval || call.kind == .removeDirectory && call.name == "copy"
      return isOfCopy && calls.next() >= place || calls.value > place && call.isChange
        ? .inputOutput : nil
    }
    _ = try? sandbox.repair(.safe, fileSystem: files)
    #expect(calls.value > place || place == 3)
    _ = try sandbox.repair(.safe)
    // An empty directory may be that of others.
    #expect(try sandbox.check(.deep).paths(.foreignFile) == (place == 2 ? ["copy"] : []))
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `a body is synced under its name before the metadata file with it is replaced`() throws
  {
    let sandbox = CheckSandbox()
    try sandbox.fill(settling: .within(seconds: 3_600)) { try $0.put([1, 2, 3], for: "a") }
    let metadata = try sandbox.metadata()
    let bytes = try sandbox.bytes(metadata)
    try sandbox.fill { store in
      try store.put([9], for: "a")
      try store.put([1, 2, 3], for: "a")
      try store.purge()
    }
    try sandbox.remove(try sandbox.body())
    try sandbox.write(metadata, bytes)
    let files = FaultyFiles()
    files.faults.set { _ in nil }
    _ = try sandbox.repair(.safe, fileSystem: files)
    let calls = files.faults.calls
    let renames = calls.indices.filter { calls[$0].kind == .rename }
    try #require(renames.count == 2)
    #expect(
      calls[renames[0]..<renames[1]].contains {
        $0.kind == .synchronize && metadata.hasPrefix("\(metadata.prefix(10))/\($0.name)/")
      })
  }

  @Test func `an entry that cannot be placed is not given up`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    try sandbox.move(directory, to: directory + "x")
    let files = FaultyFiles()
    files.faults.set { $0.kind == .link ? .inputOutput : nil }
    let repaired = try sandbox.repair(fileSystem: files)
    #expect(Set(repaired.unrepaired.map(\.kind)) == [.entryMisplaced, .entryMissing])
    #expect(repaired.report.lostEntries == 0)
    try sandbox.fill { #expect($0.statistics.entries == UInt64(model.all.count)) }
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }
}
