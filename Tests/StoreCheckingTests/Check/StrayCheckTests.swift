import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

@testable import CacheStore

@Suite struct StrayCheckTests {
  @Test func `very many foreign names are counted`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let key = try sandbox.key()
    for number in 0..<200 { try sandbox.write("\(key.prefix(10))/stray \(number)", []) }
    for number in 0..<1100 { try sandbox.write("\(key)/stray \(number)", []) }
    let checked = try sandbox.check()
    #expect(checked.paths(.foreignFile).count == 65 + 65)
    #expect(checked.findings.contains { $0.detail == "136 more foreign names" })
    #expect(checked.findings.contains { $0.detail == "1036 more foreign names" })
  }

  /// Returns files that let nobody open a directory `lost+found`.
  private func filesOfAVolume() -> FaultyFiles {
    let files = FaultyFiles()
    files.faults.set { $0.kind == .open && $0.name == "lost+found" ? SystemError(EACCES) : nil }
    return files
  }

  @Test func `a store may be the root of a volume`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.makeDirectory("lost+found")
    #expect(try sandbox.check().findings == [])
    #expect(try sandbox.repair(.all, fileSystem: filesOfAVolume()).findings == [])
    try sandbox.makeDirectory("entries/lost+found")
    #expect(try sandbox.check().kinds == [.foreignFile])
    _ = try sandbox.expectRepaired()
    #expect(try sandbox.names(".").contains("lost+found"))
  }

  @Test(arguments: RepairLevel.allCases)
  func `an entry in lost+found is not given up, but placed`(level: RepairLevel) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.makeDirectory("lost+found")
    try sandbox.move(try sandbox.directory(of: "single5"), to: "lost+found/#12345")
    let repaired = try sandbox.repair(.all, fileSystem: filesOfAVolume())
    #expect(repaired.paths(.unreadable) == ["lost+found"])
    #expect(repaired.report.lostEntries == 0)
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try sandbox.names("lost+found") == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `directories nested very deep are not walked`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let files = RealFileSystem()
    var directory = try files.open(userPath: sandbox.root + "/entries", [.read, .directory])
    for _ in 0..<2000 {
      try files.makeDirectory(PathName("d"), in: directory.raw, mode: 0o700)
      directory = try files.open(PathName("d"), in: directory, [.read, .directory])
    }
    #expect(try sandbox.check(.deep).kinds == [.foreignFile])
  }

  @Test func `entries at wrong places are counted as such, also beside foreign names`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let shard = String(try sandbox.key().prefix(10))
    let number = try #require(Int(shard.suffix(2), radix: 16))
    try sandbox.fill { store in
      // 69 more keys of the shard.
      var (left, name) = (69, 0)
      while left > 0 {
        name += 1
        let key = ByteString("\(name)")
        let hash = KeyHash(hashing: key, seed: store.hashSeed)
        guard Layout.shardNumber(of: hash) == number else { continue }
        try store.put([1], for: key)
        left -= 1
      }
    }
    for name in 0..<70 { try sandbox.write("\(shard)/stray \(name)", []) }
    for key in try sandbox.keys() where key.hasPrefix(shard) && !key.contains("stray") {
      try sandbox.move(key, to: key + "x")
    }
    let checked = try sandbox.check()
    #expect(checked.findings.count { $0.kind == .entryMisplaced } == 65)
    #expect(checked.findings.count { $0.kind == .entryMissing } == 70)
    #expect(
      checked.findings.contains { $0.kind == .entryMisplaced && $0.detail.hasPrefix("6 more") })
    #expect(checked.findings.count { $0.kind == .foreignFile } == 65)
    let repaired = try sandbox.repair(.safe)
    #expect(Set(repaired.unrepaired.map(\.kind)) == [.foreignFile])
    #expect(repaired.report.lostEntries == 0)
    #expect(try sandbox.check(.deep).kinds == Array(repeating: .foreignFile, count: 65))
  }

  @Test func `all entries of a shard under another name are found`() throws {
    let sandbox = CheckSandbox()
    // No body can be restored from another one.
    let bodies = (0..<70).map { [UInt8](repeating: $0, count: 5000) }
    try sandbox.fill { store in
      for body in bodies { try store.put(body, for: "\(body[0])") }
    }
    try sandbox.makeDirectory("entries/backup")
    for key in try sandbox.keys() where !key.hasPrefix("entries/backup") {
      try sandbox.move(key, to: "entries/backup/" + key.dropFirst("entries/00/".count))
    }
    let repaired = try sandbox.repair(.all)
    #expect(repaired.report.lostEntries == 0)
    #expect(repaired.unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
    try sandbox.fill { store in
      for body in bodies { #expect(store.lookUp("\(body[0])").entry?.body == body) }
    }
  }
}
