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

  @Test(arguments: RepairLevel.allCases, ["shard", "entries", "store"])
  func `whole folders in lost+found and elsewhere are searched`(
    _ level: RepairLevel, _ part: String
  ) throws {
    for target in ["lost+found/#12", "old"] {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel()
      let shard = String(try sandbox.directory(of: "single5").prefix(10))
      try sandbox.makeDirectory("lost+found")
      try sandbox.move(part == "shard" ? shard : "entries", to: "../moved")
      if part == "store" {
        try sandbox.makeDirectory(target)
        try sandbox.move("../moved", to: "\(target)/entries")
      } else {
        try sandbox.move("../moved", to: target)
      }
      #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
      #expect(try sandbox.names("lost+found") == [])
      #expect(try sandbox.kept(model) == model.all)
    }
  }

  @Test func `what is missing is not given up while lost+found has unknown files`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    let names = try sandbox.names(directory)
    try sandbox.makeDirectory("lost+found")
    for name in names { try sandbox.move("\(directory)/\(name)", to: "lost+found/#\(name)") }
    try sandbox.remove(directory)
    #expect(try sandbox.forecast(.deep).report.lostEntries == 0)
    for _ in 0..<2 {
      let repaired = try sandbox.repair()
      #expect(repaired.kinds == [.entryMissing, .unreadable])
      #expect(repaired.report.lostEntries == 0)
    }
    try sandbox.makeDirectory(directory)
    for name in names { try sandbox.move("lost+found/#\(name)", to: "\(directory)/\(name)") }
    // What is not needed may stay.
    try sandbox.write("lost+found/#1", [1])
    #expect(try sandbox.repair().findings == [])
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: RepairLevel.allCases, [false, true])
  func `a foreign directory in that of a key is searched before it is moved`(
    _ level: RepairLevel, _ hasJournal: Bool
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let (from, into) = (try sandbox.directory(of: "single5"), try sandbox.directory(of: "single3"))
    try sandbox.makeDirectory("\(into)/backup")
    try sandbox.move(from, to: "\(into)/backup/\(from.suffix(30))")
    try sandbox.move(
      try sandbox.directory(of: "single7"), to: "\(into)/copy")
    if !hasJournal {
      try sandbox.removeTree("journal")
      try sandbox.makeDirectory("journal")
    }
    #expect(try sandbox.check().paths(.entryMisplaced).contains("\(into)/copy"))
    #expect(try sandbox.expectRepaired(level).report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
    #expect(try sandbox.names("quarantine") == [])
  }

  @Test(arguments: [false, true])
  func `what is too deep to be searched is moved by "all" alone`(_ isInKey: Bool) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single5")
    let top = isInKey ? try sandbox.directory(of: "single3") + "/1" : "1"
    var path = top
    try sandbox.makeDirectory(path)
    for level in 2...5 {
      path += "/\(level)"
      try sandbox.makeDirectory(path)
    }
    try sandbox.move(directory, to: path + "/x")
    try sandbox.removeTree("journal")
    try sandbox.makeDirectory("journal")
    let repaired = try sandbox.repair(.safe)
    #expect(repaired.unrepaired.map(\.kind) == [.foreignFile])
    #expect(repaired.paths(.foreignFile) == [top])
    #expect(try sandbox.names(path + "/x").count == 2)
    #expect(try sandbox.repair(.all).unrepaired == [])
    let moved = try #require(
      try sandbox.allFiles("quarantine").first { $0.hasSuffix(".json") && $0.contains("/5/x/") })
    try sandbox.move(String(moved.dropLast("/0000000000000000.json".count)), to: "x")
    #expect(try sandbox.repair(.safe).report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `a safe repair leaves the empty directories of others`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let key = try sandbox.directory(of: "single3")
    let empty = ["empty", "git/refs/tags", "lost+found/#1", "\(key)/x"]
    for path in empty {
      var parent = ""
      for part in path.split(separator: "/") {
        parent += parent.isEmpty ? String(part) : "/\(part)"
        try? sandbox.makeDirectory(parent)
      }
    }
    try sandbox.move(try sandbox.directory(of: "single5"), to: "git/objects")
    try sandbox.move(try sandbox.directory(of: "single7"), to: "lost+found/#2")
    #expect(Set(try sandbox.repair(.safe).unrepaired.map(\.kind)) == [.foreignFile])
    for path in empty { #expect(sandbox.kind(path) == .directory, "\(path)") }
    #expect(sandbox.kind("git/objects") == nil && sandbox.kind("lost+found/#2") == nil)
    #expect(try sandbox.kept(model) == model.all)
    // They are no entries, so what is missing is given up.
    try sandbox.removeTree(try sandbox.directory(of: "single5"))
    #expect(try sandbox.repair().report.lostEntries == 1)
    #expect(try sandbox.names("lost+found") == ["#1"])
    #expect(try sandbox.check().findings == [])
  }

  @Test func `a safe repair removes a directory that an interrupted one has made`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.makeDirectory("\(try sandbox.key())-0123abcd")
    _ = try sandbox.expectRepaired(.safe)
  }

  @Test func `files of others beside an entry in lost+found stay there`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.makeDirectory("lost+found")
    try sandbox.move(try sandbox.directory(of: "single5"), to: "lost+found/#1")
    try sandbox.write("lost+found/#1/letter", [1])
    #expect(try sandbox.repair().unrepaired == [])
    #expect(try sandbox.names("lost+found/#1").contains("letter"))
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: [0o400, 0o500, 0o600] as [UInt32], ["old", "old/x"])
  func `a foreign directory that its owner cannot use is searched and emptied`(
    _ mode: UInt32, _ closed: String
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let body = [UInt8](repeating: 5, count: 5000)
    try sandbox.fill { try $0.put(body, for: "hidden", variant: 5) }
    try sandbox.makeDirectory("old")
    try sandbox.move(try sandbox.directory(of: "hidden"), to: "old/x")
    let inside = Set(try sandbox.names(closed))
    try sandbox.setMode(closed, mode)
    // Root may use it all the same.
    let (files, root) = (FaultyFiles(), sandbox.inside(closed))
    files.faults.set { call in
      let needed: UInt32 = call.isChange ? 0o300 : 0o100
      let isInside = inside.contains(call.name) && call.kind != .changeMode
      let isRefused = sandbox.kind(closed) != nil && modeOf(root) & needed != needed
      return isInside && isRefused ? SystemError(EACCES) : nil
    }
    let checked = try sandbox.check(fileSystem: files)
    #expect(!checked.kinds.contains(.unreadable))
    #expect(checked.kinds.contains(.wrongMode) == (mode != 0o500))
    let repaired = try sandbox.repair(.safe, fileSystem: files)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 0)
    #expect(sandbox.kind("old") == nil)
    try sandbox.fill { #expect($0.lookUp("hidden", variant: 5).entry?.body == body) }
  }

  @Test func `lost+found of root keeps no repair, unless an entry is missing`() throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    try sandbox.makeDirectory("lost+found")
    try sandbox.makeDirectory("lost+found/#1")
    try sandbox.makeDirectory("staging/0123456789abcdef")
    let files = filesOfAVolume()
    #expect(try sandbox.check(fileSystem: files).kinds == [.stagingLeft])
    #expect(try sandbox.repair(.safe, fileSystem: files).unrepaired == [])
    try sandbox.removeTree(try sandbox.directory(of: "single5"))
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(repaired.kinds == [.entryMissing, .unreadable] && repaired.report.lostEntries == 0)
  }

  @Test(arguments: ["old", "old/x", "lost+found"])
  func `a foreign directory that its owner cannot open is opened and searched`(
    _ closed: String
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.makeDirectory(closed.hasPrefix("old") ? "old" : closed)
    let target = closed == "lost+found" ? "\(closed)/#1" : "old/x"
    try sandbox.move(try sandbox.directory(of: "single5"), to: target)
    try sandbox.setMode(closed, 0)
    // Root may open it all the same.
    let (files, root) = (FaultyFiles(), sandbox.inside(closed))
    files.faults.set { call in
      let isClosed = call.kind == .open && root.hasSuffix("/\(call.name)")
      return isClosed && modeOf(root) == 0 ? SystemError(EACCES) : nil
    }
    let checked = try sandbox.check(fileSystem: files)
    #expect(checked.kinds.contains(.wrongMode) && !checked.kinds.contains(.unreadable))
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 0)
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
    #expect(try sandbox.repair(.safe).unrepaired.map(\.kind) == [.foreignFile])
    #expect(try sandbox.repair(.all).unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test(arguments: ["foo", "lost+found"])
  func `directories that are too deep keep no missing entry`(top: String) throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.removeTree(try sandbox.directory(of: "a"))
    var path = top
    for number in 1...8 {
      try sandbox.makeDirectory(path)
      path += "/\(number)"
    }
    #expect(try sandbox.forecast(.quick).report.lostEntries == 1)
    let repaired = try sandbox.repair(.all)
    #expect(repaired.unrepaired == [] && repaired.report.lostEntries == 1)
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `what is too deep and cannot be moved keeps missing entries`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let directory = try sandbox.directory(of: "a")
    var path = "foo"
    for number in 1...8 {
      try sandbox.makeDirectory(path)
      path += "/\(number)"
    }
    try sandbox.move(directory, to: path)
    let files = FaultyFiles()
    files.faults.set { call in
      let isMoved = call.kind == .rename && call.name.hasPrefix("foo")
      return isMoved ? SystemError(EBUSY) : nil
    }
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(Set(repaired.unrepaired.map(\.kind)) == [.entryMissing, .foreignFile])
    #expect(repaired.report.lostEntries == 0)
    try sandbox.move(path, to: "zz")
    #expect(try sandbox.repair(.all).report.lostEntries == 0)
    #expect(try sandbox.check(.deep).findings == [])
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

private func modeOf(_ path: String) -> UInt32 {
  var found = stat()
  // Safety: the call fills the value.
  return unsafe lstat(path, &found) == 0 ? UInt32(found.st_mode) & 0o777 : 0
}
