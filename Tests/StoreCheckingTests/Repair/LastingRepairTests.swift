import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

/// What a repair calls repaired is so at the next check, and what was removed does not come back.
@Suite struct LastingRepairTests {
  private static let segment = "journal/00000001.log"

  @Test func `a changed body that is taken up from the tree is set aside in the same run`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.write(Self.segment, [])
    try sandbox.flip(try RepairCase.body(sandbox, "single3"), at: 7)
    #expect(try sandbox.expectRepaired().kinds.contains(.bodyWrong))
    #expect(try sandbox.kept(model).count == model.all.count - 1)
  }

  @Test(arguments: ["journal/new", "store.json.new"], RepairLevel.allCases)
  func `a directory in place of an unfinished file goes`(
    _ name: String, _ level: RepairLevel
  ) throws {
    for isFull in [false, true] {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel()
      try sandbox.makeDirectory(name)
      if isFull { try sandbox.write("\(name)/x", [1]) }
      #expect(try sandbox.check().kinds == [.stagingLeft])
      _ = try sandbox.expectRepaired(level)
      #expect(try sandbox.kept(model) == model.all)
    }
  }

  @Test func `a directory in place of an unfinished file blocks no writing`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    for name in ["journal/new", "store.json.new"] {
      try sandbox.makeDirectory(name)
      try sandbox.write("\(name)/x", [1])
    }
    // Both have to be written: the first segment and store.json.
    try sandbox.remove(Self.segment)
    try sandbox.remove("store.json")
    try sandbox.fill { store in
      try store.put([1], for: "new")
      #expect(model.kept(store) == model.all)
    }
    #expect(try sandbox.check(.deep).findings == [])
  }

  /// Flips a bit in the last remove record.
  private func damageRemoval(_ sandbox: CheckSandbox) throws {
    let bytes = try sandbox.bytes(Self.segment)
    let record = try #require(
      try sandbox.records(Self.segment).last { bytes[$0.lowerBound + 24] == 2 })
    try sandbox.flip(Self.segment, at: record.lowerBound + 40)
  }

  @Test(arguments: [[RepairLevel.all], [.safe, .all]])
  func `what was removed does not come back from another entry with its body`(
    _ levels: [RepairLevel]
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      try store.put([1, 2, 3], for: "a")
      try store.put([1, 2, 3], for: "b")
      try store.remove("a")
      try store.put([4], for: "c")
    }
    try damageRemoval(sandbox)
    for level in levels { _ = try sandbox.repair(level) }
    #expect(try sandbox.check(.deep).findings == [])
    try sandbox.fill { store in
      #expect(!store.contains("a"))
      #expect(store.lookUp("b").entry?.body == [1, 2, 3])
      #expect(store.lookUp("c").entry?.body == [4])
    }
  }

  @Test(arguments: RepairLevel.allCases)
  func `a removed variant does not come back from another one with its body`(
    _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      try store.put([1, 2, 3], for: "a", variant: 0)
      try store.put([1, 2, 3], for: "a", variant: 1)
      try store.remove("a", variant: 0)
      try store.put([4], for: "c")
    }
    try damageRemoval(sandbox)
    if level == .safe {
      // It may also be there yet.
      let left = try sandbox.repair(.safe).unrepaired.map(\.kind)
      #expect(left == [.metadataMissing, .recordDamaged])
    }
    _ = try sandbox.expectRepaired()
    try sandbox.fill { store in
      #expect(!store.contains("a", variant: 0))
      #expect(store.lookUp("a", variant: 1).entry?.body == [1, 2, 3])
    }
  }
}
