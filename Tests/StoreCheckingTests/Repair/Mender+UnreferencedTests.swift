import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// Repairs of bodies and entries of which the journal has no record. They may be the only copy.
@Suite struct MenderUnreferencedTests {
  private func bodyPath(_ sandbox: CheckSandbox, _ key: ByteString) throws -> (String, [UInt8]) {
    let path = try RepairCase.body(sandbox, key)
    return (path, try sandbox.bytes(path))
  }

  private func exchange(_ sandbox: CheckSandbox, _ key: ByteString, _ other: ByteString) throws {
    let (mine, theirs) = try (sandbox.directory(of: key), sandbox.directory(of: other))
    try sandbox.move(mine, to: "../mine")
    try sandbox.move(theirs, to: mine)
    try sandbox.move("../mine", to: theirs)
  }

  @Test(arguments: RepairLevel.allCases)
  func `a body in the directory of another key is not deleted`(_ level: RepairLevel) throws {
    for (key, other) in [("single2", "single3"), ("single3", "single2")] {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel()
      let (path, bytes) = try bodyPath(sandbox, ByteString(key))
      let name = path.split(separator: "/").last!
      try sandbox.move(path, to: "\(try sandbox.directory(of: ByteString(other)))/\(name)")
      let repaired = try sandbox.repair(level)
      #expect(repaired.report.lostEntries == (level == .all ? 1 : 0))
      #expect(try sandbox.hasFile(bytes))
      #expect(try sandbox.kept(model) == model.all.filter { $0.key != ByteString(key) })
    }
  }

  @Test(arguments: [false, true])
  func `a body whose metadata file and record are lost is not deleted`(
    hasDeadSession: Bool
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let (_, bytes) = try bodyPath(sandbox, "single2")
    try sandbox.remove(try RepairCase.metadata(sandbox, "single2"))
    try sandbox.remove("journal/00000001.log")
    if hasDeadSession { try sandbox.makeDirectory("staging/0123456789abcdef") }
    _ = try sandbox.repair(.safe)
    try sandbox.makeDirectory("staging/0123456789abcdef")
    _ = try sandbox.repair(.safe)
    #expect(try sandbox.hasFile(bytes))
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test(arguments: [false, true], RepairLevel.allCases)
  func `a body beside files of a changed key is not deleted`(
    isRemoved: Bool, level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let (_, bytes) = try bodyPath(sandbox, "single3")
    try exchange(sandbox, "single2", "single3")
    try sandbox.fill { store in
      if isRemoved {
        try store.remove("single2")
      } else {
        try store.put([1, 2, 3], for: "single2")
      }
    }
    #expect(try sandbox.repair(level).report.lostEntries == (level == .all ? 1 : 0))
    #expect(try sandbox.hasFile(bytes))
    try sandbox.fill { store in
      #expect(store.lookUp("single2").entry?.body == (isRemoved ? nil : [1, 2, 3]))
    }
  }

  @Test func `a body that was replaced, and the files of a removed entry are deleted`() throws {
    for isShared in [false, true] {
      let sandbox = CheckSandbox()
      let key: ByteString = isShared ? "shared1" : "single2"
      let model = try sandbox.fillModel()
      let (path, bytes) = try bodyPath(sandbox, key)
      let metadata = try RepairCase.metadata(sandbox, key)
      let metadataBytes = try sandbox.bytes(metadata)
      try sandbox.fill { try $0.put([1, 2, 3], for: key) }
      try sandbox.write(path, bytes)
      #expect(try sandbox.expectRepaired(.safe).kinds == [.bodyOrphan])
      try sandbox.fill { try $0.remove(key) }
      try sandbox.makeDirectory(try sandbox.directory(of: key))
      try sandbox.write(path, bytes)
      #expect(try sandbox.expectRepaired(.safe).kinds == [.bodyOrphan])
      try sandbox.makeDirectory(try sandbox.directory(of: key))
      try sandbox.write(path, bytes)
      try sandbox.write(metadata, metadataBytes)
      #expect(try sandbox.expectRepaired(.safe).kinds == [.entryUnrecorded])
      #expect(try sandbox.kept(model) == model.all.filter { $0.key != key })
      // The only copy of another entry's body looks like this, too.
      #expect(try sandbox.names("quarantine").isEmpty == !isShared)
    }
  }

  /// The entry was given up and forgotten, and is there again.
  @Test func `whole entries without a record are kept, wherever a repair was killed`() throws {
    for number in 0..<2000 {
      let sandbox = CheckSandbox()
      _ = try sandbox.fillModel()
      let (path, bytes) = try bodyPath(sandbox, "single5")
      let metadata = try sandbox.bytes(try RepairCase.metadata(sandbox, "single5"))
      let directory = try sandbox.forget("single5")
      try sandbox.move("../away", to: directory)
      #expect(try sandbox.bytes(path) == bytes)
      let strike = CountedFault(after: number, ends: true, .inputOutput, \.isChange)
      let files = FaultyFiles()
      files.faults.set { strike.check($0) }
      _ = try? sandbox.repair(.all, fileSystem: files)
      try? sandbox.makeDirectory("staging/0123456789abcdef")
      #expect(try sandbox.repair(.safe).unrepaired == [], "\(number)")
      #expect(try sandbox.hasFile(bytes) && sandbox.hasFile(metadata), "\(number)")
      #expect(try sandbox.check(.deep).findings == [], "\(number)")
      if !strike.hasStruck {
        #expect(number > 3)
        return
      }
    }
  }
}

extension CheckSandbox {
  /// Whether a regular file of the store holds just these bytes; one in the quarantine, too.
  func hasFile(_ bytes: [UInt8]) throws -> Bool {
    try allFiles().contains { holds($0, bytes) }
  }
}
