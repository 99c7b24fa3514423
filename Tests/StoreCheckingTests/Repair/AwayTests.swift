import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

/// A part of the store is away for a moment: a volume that is not mounted, a folder that was moved. A
/// safe repair in between loses nothing of it.
@Suite struct AwayTests {
  /// What is done to the store while a part of it is away.
  enum Meanwhile: CaseIterable {
    case nothing, safeRepair, lookUps, crash
  }

  private func happen(_ meanwhile: Meanwhile, _ sandbox: CheckSandbox, _ model: RepairModel) throws
  {
    switch meanwhile {
    case .nothing: break
    case .safeRepair:
      let repaired = try sandbox.repair(.safe)
      #expect(repaired.kinds.contains(.entryMissing))
      #expect(Set(repaired.unrepaired.map(\.kind)) == [.entryMissing])
      // Nothing new is found then, and nothing is repaired.
      let again = try sandbox.repair(.safe)
      #expect(Set(again.kinds) == [.entryMissing] && again.unrepaired.count == again.kinds.count)
    case .lookUps, .crash:
      if meanwhile == .crash { try sandbox.makeDirectory("staging/0123456789abcdef") }
      let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
      _ = model.kept(store)
      store.waitUntilIdle()
      #expect(store.statistics.entries == UInt64(model.all.count))
      store.close()
    }
  }

  /// Puts back what was away, in place of the empty folder that may stand there.
  private func putBack(_ name: String, _ sandbox: CheckSandbox) throws {
    if (try? sandbox.names(name)) != nil { try sandbox.remove(name) }
    try sandbox.move("../away", to: name)
  }

  @Test(arguments: Meanwhile.allCases)
  func `the folder of all entries is away and comes back`(_ meanwhile: Meanwhile) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.move("entries", to: "../away")
    try happen(meanwhile, sandbox, model)
    try putBack("entries", sandbox)
    #expect(try sandbox.repair(.safe).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: Meanwhile.allCases)
  func `one shard is away and comes back`(_ meanwhile: Meanwhile) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let shard = String(try sandbox.directory(of: "single2").prefix(10))
    try sandbox.move(shard, to: "../away")
    try happen(meanwhile, sandbox, model)
    try putBack(shard, sandbox)
    #expect(try sandbox.repair(.safe).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: Meanwhile.allCases)
  func `a link stands for the folder of all entries, which comes back`(
    _ meanwhile: Meanwhile
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.move("entries", to: "../away")
    try sandbox.plantLink("entries", to: "../away")
    if meanwhile == .nothing {
      #expect(Set(try sandbox.check().kinds).isSuperset(of: [.wrongKind, .partMissing]))
      try sandbox.remove("entries")
    } else if meanwhile == .safeRepair {
      let repaired = try sandbox.repair(.safe)
      #expect(Set(repaired.kinds) == [.entryMissing, .partMissing, .wrongKind])
      #expect(Set(repaired.unrepaired.map(\.kind)) == [.entryMissing])
    } else {
      try happen(meanwhile, sandbox, model)
    }
    try putBack("entries", sandbox)
    #expect(try sandbox.repair(.safe).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `a store that is open finds its entries again`() throws {
    let sandbox = CheckSandbox()
    let store = try Store(at: sandbox.root, options: Options(settling: .atOnce))
    let model = try RepairModel.fill(store)
    try sandbox.move("entries", to: "../away")
    try sandbox.makeDirectory("entries")
    #expect(try Set(sandbox.repair(.safe).unrepaired.map(\.kind)) == [.entryMissing])
    _ = model.kept(store)
    store.waitUntilIdle()
    try putBack("entries", sandbox)
    _ = model.kept(store)
    store.waitUntilIdle()
    #expect(model.kept(store) == model.all)
    store.close()
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `what is removed while it is away does not come back`() throws {
    let sandbox = CheckSandbox()
    var model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    try sandbox.move(directory, to: "../away")
    try sandbox.fill { store in try store.remove("single2") }
    model.bodies[.init(key: "single2", variant: 0)] = nil
    #expect(try sandbox.check(.deep).findings == [])
    try putBack(directory, sandbox)
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.kinds == [.entryUnrecorded] && repaired.unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
    try sandbox.fill { #expect(!$0.contains("single2")) }
  }

  @Test func `what was removed with all others does not come back`() throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    try sandbox.move(directory, to: "../away")
    try sandbox.fill { try $0.removeAll() }
    try sandbox.makeDirectory(String(directory.prefix(10)))
    try putBack(directory, sandbox)
    #expect(try sandbox.repair(.safe, jobs: 4).kinds == [.entryUnrecorded])
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `what was stored anew while it was away stays the new one`() throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    try sandbox.move(directory, to: "../away")
    try sandbox.fill { try $0.put([1, 2, 3], for: "single2") }
    // The old files come into the folder of the new ones.
    let metadata = try sandbox.bytes("\(directory)/0000000000000000.json")
    for name in try sandbox.names("../away") where name.hasSuffix(".body") {
      try sandbox.move("../away/\(name)", to: "\(directory)/\(name)")
    }
    try sandbox.move("../away/0000000000000000.json", to: "\(directory)/0000000000000000.json")
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.kinds == [.bodyOrphan, .metadataDiffers] && repaired.unrepaired == [])
    #expect(try sandbox.bytes("\(directory)/0000000000000000.json") == metadata)
    try sandbox.fill { #expect($0.lookUp("single2").entry?.body == [1, 2, 3]) }
  }

  @Test(arguments: RepairLevel.allCases)
  func `what was given up is taken up again when it comes back whole`(_ level: RepairLevel) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.move("entries", to: "../away")
    let given = try sandbox.repair(.all)
    #expect(given.unrepaired == [])
    #expect(try sandbox.check().findings == [])
    // There are empty shards now.
    try sandbox.removeTree("entries")
    try putBack("entries", sandbox)
    #expect(Set(try sandbox.check(.deep).kinds) == [.entryReturned])
    let repaired = try sandbox.repair(level, jobs: 2)
    #expect(Set(repaired.kinds) == [.entryReturned] && repaired.unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `what was given up and comes back damaged is not taken up`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    try sandbox.flip(try RepairCase.body(sandbox, "single2"), at: 3)
    try sandbox.move(directory, to: "../away")
    #expect(try sandbox.repair(.all).unrepaired == [])
    try putBack(directory, sandbox)
    // A quick repair does not know that before it takes it up.
    #expect(try sandbox.repair(.safe, .quick).unrepaired.map(\.kind) == [.entryReturned])
    let left = try sandbox.repair(.safe)
    #expect(left.unrepaired.map(\.kind) == [.entryUnexplained])
    #expect(try sandbox.repair(.all).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.names("quarantine").count == 1)
    #expect(try sandbox.kept(model).count == model.all.count - 1)
  }

  @Test func `without the journal the tree is taken up, what nothing explains included`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try RepairCase.entries.first { $0.kinds == [.entryUnexplained] }?.damage(sandbox)
    #expect(try sandbox.repair(.safe).unrepaired.map(\.kind) == [.entryUnexplained])
    try sandbox.move("journal", to: "../journal")
    #expect(try sandbox.repair(.safe).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
    try sandbox.fill { #expect($0.lookUp("new").entry?.body == [9]) }
  }

  @Test func `what a crash has left goes at the level safe`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try RepairCase.entries.first { $0.kinds == [.entryUnexplained] }?.damage(sandbox)
    try sandbox.makeDirectory("staging/0123456789abcdef")
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.kinds == [.entryUnrecorded, .stagingLeft] && repaired.unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }
}
