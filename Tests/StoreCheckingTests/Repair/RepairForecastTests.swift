import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

@Suite struct RepairForecastTests {
  @Test func `a body that others share, but that cannot be read now, is not forecast as lost`()
    throws
  {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    try sandbox.remove(try RepairCase.body(sandbox, "shared0"))
    // The check itself opens bodies in the directories of their keys.
    let files = FaultyFiles()
    files.faults.set {
      $0.kind == .open && $0.name.hasSuffix(".body") && $0.name.contains("/") ? .inputOutput : nil
    }
    let forecast = try sandbox.forecast(.quick, fileSystem: files)
    #expect(forecast.kinds.contains(.bodyMissing) && forecast.report.lostEntries == 0)
    files.faults.set { $0.kind == .link ? .inputOutput : nil }
    #expect(try sandbox.repair(.all, .quick, fileSystem: files).report.lostEntries == 0)
  }

  @Test func `a body that is too long is restored if it begins with the right one`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let path = try RepairCase.body(sandbox, "single2")
    try sandbox.append(path, [1, 2, 3])
    let forecast = try sandbox.forecast(.quick)
    #expect(forecast.kinds == [.bodyLong] && forecast.report.lostEntries == 0)
    #expect(try sandbox.repair(.all, .quick).report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
    // One byte of the beginning is another one.
    try sandbox.append(path, [1, 2, 3])
    try sandbox.flip(path, at: 0)
    let other = try sandbox.forecast(.deep)
    #expect(other.report.lostEntries == 1)
    #expect(try sandbox.repair(.all, .deep).report.lostEntries == 1)
    #expect(try sandbox.kept(model) == model.all.filter { $0.key != "single2" })
  }

  @Test func `what a later shard cannot read may be an entry that is missing`() throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let paths = try ["single2", "single3", "single5"].map { try sandbox.directory(of: $0) }.sorted()
    try sandbox.removeTree(paths[0])
    try sandbox.removeTree(paths[1])
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == paths[2].suffix(30) ? .inputOutput : nil }
    let forecast = try sandbox.forecast(.deep, fileSystem: files)
    #expect(forecast.findings.reduce(0) { $0 + $1.lostEntries } == 0)
    #expect(forecast.report.lostEntries == 0)
    // Its mode would be set.
    try sandbox.setMode(paths[2], 0)
    let forecastOfMode = try sandbox.forecast(.deep, fileSystem: files.refusing(paths[2]))
    #expect(forecastOfMode.kinds == [.entryMissing, .entryMissing, .wrongMode])
    #expect(forecastOfMode.report.lostEntries == 2)
    #expect(try sandbox.repair(.all).report.lostEntries == 2)
  }

  @Test(arguments: ["foreign", "lost+found"])
  func `what a repair could open may be an entry that is missing`(_ name: String) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.makeDirectory(name)
    try sandbox.move(try sandbox.directory(of: "single2"), to: "\(name)/x")
    try sandbox.setMode(name, 0)
    // Root may open it all the same.
    let files = FaultyFiles()
    files.faults.set { $0.kind == .open && $0.name == name ? SystemError(EACCES) : nil }
    let forecast = try sandbox.forecast(.deep, fileSystem: files)
    #expect(forecast.kinds.contains(.entryMissing) && forecast.report.lostEntries == 0)
    #expect(try sandbox.repair(.all).report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test func `an entry whose newer version has lost its record is not forecast as lost`() throws {
    for isWrong in [false, true] {
      let sandbox = CheckSandbox()
      var model = try sandbox.fillModel()
      let journal = try sandbox.bytes("journal/00000001.log")
      let newer = [UInt8](repeating: 9, count: 700)
      try sandbox.fill { store in
        let metadata = EntryMetadata(status: 200, fields: [Field("content-type", "text/plain")])
        try store.put(newer, for: "single2", metadata: metadata)
      }
      model.bodies[.init(key: "single2", variant: 0)] = newer
      try sandbox.write("journal/00000001.log", journal)
      if isWrong { try sandbox.flip(try RepairCase.body(sandbox, "single2"), at: 7) }
      let (forecast, repaired) = try (sandbox.forecast(.deep), sandbox.repair(.all))
      #expect(forecast.kinds.contains(.bodyMissing))
      #expect(forecast.report.lostEntries == (isWrong ? 1 : 0))
      #expect(repaired.report.lostEntries == (isWrong ? 1 : 0))
      #expect(try sandbox.kept(model) == model.all.filter { !isWrong || $0.key != "single2" })
    }
  }

  @Test func `without a journal, an entry with a wrong body is found, and forecast as lost`() throws
  {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.removeTree("journal")
    try sandbox.makeDirectory("journal")
    try sandbox.flip(try RepairCase.body(sandbox, "single2"), at: 7)
    try sandbox.flip(try RepairCase.body(sandbox, "variants"), at: 7)
    #expect(try sandbox.check(.deep).kinds == [.bodyWrong, .bodyWrong, .journalMissing])
    let (forecast, repaired) = try (sandbox.forecast(.deep), sandbox.repair(.all))
    #expect(forecast.kinds == repaired.kinds)
    #expect(forecast.report.lostEntries == repaired.report.lostEntries)
    #expect(try sandbox.kept(model).count == model.all.count - repaired.report.lostEntries)
  }

  /// What is in a foreign directory.
  enum Foreign: CaseIterable { case olderAlone, olderBesideOthers, onlyCopyBesideOthers }

  @Test(arguments: Foreign.allCases, RepairLevel.allCases)
  func `a forecast knows whether a repair leaves an entry in a foreign directory`(
    _ content: Foreign, _ level: RepairLevel
  ) throws {
    let sandbox = CheckSandbox()
    _ = try sandbox.fillModel()
    let directory = try sandbox.directory(of: "single2")
    switch content {
    case .onlyCopyBesideOthers: try sandbox.move(directory, to: "entries/x")
    case .olderAlone, .olderBesideOthers:
      try sandbox.copyDirectory(directory, to: "entries/x")
      try sandbox.fill { try $0.put([1, 2, 3], for: "single2") }
    }
    if content != .olderAlone { try sandbox.write("entries/x/letter.txt", [1]) }
    let forecast = try sandbox.forecast(.deep, level)
    let misplaced = try #require(forecast.findings.first { $0.kind == .entryMisplaced })
    let repaired = try sandbox.repair(level)
    let isLeft = repaired.unrepaired.contains { $0.kind == .entryMisplaced }
    #expect(misplaced.isException == isLeft)
    #expect(isLeft == (content == .olderBesideOthers && level == .safe))
  }

  @Test func `what is damaged but not lost is not counted, and a forecast changes nothing`() throws
  {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.write(try RepairCase.metadata(sandbox, "single1"), [])
    try sandbox.remove(try RepairCase.metadata(sandbox, "single2"))
    try sandbox.remove(try RepairCase.body(sandbox, "shared1"))
    try sandbox.remove(try RepairCase.body(sandbox, "single3"))
    for _ in 0..<2 {
      let forecast = try sandbox.forecast(.deep)
      #expect(Set(forecast.kinds) == [.metadataDamaged, .metadataMissing, .bodyMissing])
      #expect(forecast.report.lostEntries == 1 && forecast.report.repaired == 0)
    }
    #expect(try sandbox.repair(.all, .deep).report.lostEntries == 1)
    #expect(try sandbox.kept(model) == model.all.filter { $0.key != "single3" })
  }
}

extension FaultyFiles {
  /// Lets nobody open a directory.
  fileprivate func refusing(_ path: String) -> FaultyFiles {
    faults.set { call in
      call.kind == .open && path.hasSuffix("/\(call.name)") ? SystemError(EACCES) : nil
    }
    return self
  }
}
