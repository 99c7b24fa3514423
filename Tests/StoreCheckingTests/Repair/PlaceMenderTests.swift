import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// Repairs of the directory of a store, above all where the valid store.json of another store stands.
@Suite struct PlaceMenderTests {
  /// A filled store with the store.json of another one.
  private func mixedUp() throws -> (sandbox: CheckSandbox, model: RepairModel, own: [UInt8]) {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let own = try sandbox.bytes("store.json")
    let other = CheckSandbox()
    try other.fill { try $0.put([1], for: "other") }
    try sandbox.write("store.json", try other.bytes("store.json"))
    return (sandbox, model, own)
  }

  private func expectWhole(_ sandbox: CheckSandbox, _ model: RepairModel) throws {
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  /// The seed that a store.json says.
  private func seed(_ bytes: [UInt8]) throws -> UInt64 {
    try StoreDescription(decoding: bytes).hashSeed
  }

  @Test(arguments: RepairLevel.allCases)
  func `a repair restores it from segments and metadata files, and loses nothing`(
    _ level: RepairLevel
  ) throws {
    let (sandbox, model, own) = try mixedUp()
    #expect(try sandbox.check(.deep).kinds == [.descriptionDamaged])
    let repaired = try sandbox.repair(level)
    #expect(repaired.kinds == [.descriptionDamaged] && repaired.unrepaired == [])
    #expect(try seed(sandbox.bytes("store.json")) == seed(own))
    try expectWhole(sandbox, model)
    // The foreign one is kept.
    #expect(try sandbox.allFiles("quarantine").contains { $0.hasSuffix("files/store.json") })
  }

  @Test func `opening alone restores it, too`() throws {
    let (sandbox, model, own) = try mixedUp()
    #expect(try sandbox.kept(model) == model.all)
    try sandbox.fill { store in #expect(model.kept(store) == model.all) }
    #expect(try seed(sandbox.bytes("store.json")) == seed(own))
    try expectWhole(sandbox, model)
  }

  @Test func `without a journal the metadata files tell`() throws {
    let (sandbox, model, own) = try mixedUp()
    try sandbox.remove("journal/00000001.log")
    #expect(try sandbox.repair(.safe).unrepaired == [])
    #expect(try seed(sandbox.bytes("store.json")) == seed(own))
    try expectWhole(sandbox, model)
  }

  @Test func `a segment of another store does not outvote the metadata files`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let other = CheckSandbox()
    try other.fill { try $0.put([1], for: "other") }
    let own = try sandbox.bytes("store.json")
    try sandbox.write("journal/00000001.log", try other.bytes("journal/00000001.log"))
    #expect(try sandbox.repair(.safe).unrepaired == [])
    #expect(try sandbox.bytes("store.json") == own)
    try expectWhole(sandbox, model)
    // Nor where store.json is missing.
    try sandbox.write("journal/00000001.log", try other.bytes("journal/00000001.log"))
    try sandbox.remove("store.json")
    #expect(try sandbox.repair(.safe).unrepaired == [])
    #expect(try seed(sandbox.bytes("store.json")) == seed(own))
    try expectWhole(sandbox, model)
  }

  @Test func `a journal of another store is no evidence while the entries are elsewhere`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let other = CheckSandbox()
    try other.fill { try $0.put([1], for: "other") }
    let own = try sandbox.bytes("store.json")
    try sandbox.move("entries", to: "entries.old")
    try sandbox.makeDirectory("entries")
    try sandbox.write("journal/00000001.log", try other.bytes("journal/00000001.log"))
    #expect(!(try sandbox.check().kinds.contains(.descriptionDamaged)))
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 0)
    #expect(try sandbox.bytes("store.json") == own)
    try expectWhole(sandbox, model)
  }

  @Test func `with the mark in the lock, the journal is evidence without entries`() throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.remove("nothing") }
    let model = CheckSandbox()
    let own = try sandbox.bytes("store.json")
    try model.fill { try $0.put([1], for: "other") }
    try sandbox.fill(Options(durability: .full)) { try $0.put([1], for: "a") }
    try sandbox.move("entries", to: "../entries")
    try sandbox.makeDirectory("entries")
    try sandbox.write("store.json", try model.bytes("store.json"))
    #expect(try sandbox.repair(.safe).kinds.contains(.descriptionDamaged))
    #expect(try seed(sandbox.bytes("store.json")) == seed(own))
  }

  @Test(arguments: [true, false])
  func `a safe repair removes no body beside metadata of another store`(
    _ isJournalWhole: Bool
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let other = CheckSandbox()
    _ = try other.fillModel()
    // The directories of another store's keys, as somebody who merges two folders leaves them.
    let strange = try other.keys()
    for key in strange {
      let shard = String(key.prefix(10))
      if (try? sandbox.names(shard)) == nil { try sandbox.makeDirectory(shard) }
      try sandbox.makeDirectory(key)
      for name in try other.names(key) {
        try sandbox.write("\(key)/\(name)", try other.bytes("\(key)/\(name)"))
      }
    }
    if !isJournalWhole { try sandbox.flip("journal/00000001.log", at: 2000) }
    _ = try sandbox.repair(.safe)
    for key in strange {
      for name in try other.names(key) {
        #expect(try sandbox.bytes("\(key)/\(name)") == other.bytes("\(key)/\(name)"))
      }
    }
  }

  @Test(arguments: ["~", ".bak"])
  func `a safe repair removes no body whose metadata file has got another name`(
    _ suffix: String
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    let metadata = "\(directory)/0000000000000000.json"
    let body = try RepairCase.body(sandbox, "single2")
    // The journal is lost, so the body is all that can be told by that name.
    try sandbox.move(metadata, to: metadata + suffix)
    try sandbox.remove("journal/00000001.log")
    #expect(try Set(sandbox.repair(.safe).unrepaired.map(\.kind)) == [.bodyOrphan, .foreignFile])
    #expect((try? sandbox.bytes(body)) != nil)
    try sandbox.move(metadata + suffix, to: metadata)
    for segment in try sandbox.names("journal") { try sandbox.remove("journal/\(segment)") }
    #expect(try sandbox.repair(.safe).unrepaired == [])
    try sandbox.fill { #expect($0.contains("single2")) }
  }

  @Test(arguments: RepairCase.place + RepairCase.journal)
  func `on a full disk a repair fails in part, and loses nothing more`(_ damage: RepairCase) throws
  {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try damage.damage(sandbox)
    let files = FaultyFiles()
    files.faults.setFull(true)
    for finding in try sandbox.repair(fileSystem: files).findings {
      if case .failed(let reason) = finding.outcome { #expect(!reason.isEmpty) }
    }
    files.faults.setFull(false)
    _ = try sandbox.expectRepaired()
    let survivors = model.all.filter { !damage.lost.contains($0.key) }
    #expect(try sandbox.kept(model).isSuperset(of: survivors))
  }
}
