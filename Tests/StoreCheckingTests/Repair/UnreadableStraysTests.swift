import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

@testable import StoreChecking

/// Repairs of entries at wrong places that the system cannot read now.
@Suite struct UnreadableStraysTests {
  /// The bodies of two variants of two keys. None can be restored from another one.
  private static let bodies: [(key: ByteString, variant: UInt64, body: [UInt8])] = [
    ("a", 0, [UInt8](repeating: 1, count: 5000)), ("a", 1, [UInt8](repeating: 2, count: 5000)),
    ("b", 0, [UInt8](repeating: 3, count: 5000)), ("b", 1, [UInt8](repeating: 4, count: 5000)),
  ]

  /// Makes a store of two keys, and moves the directory of the first one.
  private func sandbox(_ displacement: MenderMisplacedTests.Displacement) throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { store in
      for (key, variant, body) in Self.bodies { try store.put(body, for: key, variant: variant) }
    }
    let directory = try sandbox.directory(of: "a")
    switch displacement {
    case .movedOneLevelDown:
      try sandbox.makeDirectory("entries/backup")
      try sandbox.move(directory, to: "entries/backup/x")
    default: try sandbox.move(directory, to: directory + "x")
    }
    return sandbox
  }

  /// Returns the number of entries with their right bodies.
  private func kept(_ sandbox: CheckSandbox) throws -> Int {
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true, createsStore: false))
    defer { store.close() }
    return Self.bodies.count { store.lookUp($0.key, variant: $0.variant).entry?.body == $0.body }
  }

  /// Returns files of which one call fails that looks at an entry or at the foreign directory.
  private func files(
    failing kind: FileCall.Kind, at place: Int
  ) -> (files: FaultyFiles, calls: CallCounter) {
    let (files, calls) = (FaultyFiles(), CallCounter())
    files.faults.set { call in
      let isOfEntry =
        call.name.hasSuffix("x") || call.name.hasSuffix("backup") || call.name.hasSuffix(".json")
        || call.name.hasSuffix(".body")
      guard call.kind == kind, isOfEntry, !call.options.contains(.create) else { return nil }
      return calls.next() == place ? .inputOutput : nil
    }
    return (files, calls)
  }

  @Test(
    arguments: [MenderMisplacedTests.Displacement.moved, .movedOneLevelDown],
    [FileCall.Kind.list, .open, .read, .statusAt])
  func `an entry that cannot be read at its wrong place is repaired later`(
    _ displacement: MenderMisplacedTests.Displacement, _ kind: FileCall.Kind
  ) throws {
    for place in 0..<1000 {
      let sandbox = try sandbox(displacement)
      let (files, calls) = files(failing: kind, at: place)
      _ = try? sandbox.repair(.all, fileSystem: files)
      #expect(try sandbox.repair().report.lostEntries == 0, "\(place)")
      #expect(try sandbox.check(.deep).findings == [], "\(place)")
      #expect(try kept(sandbox) == 4, "\(place)")
      if calls.value <= place { return }
    }
    Issue.record("there are more calls")
  }

  @Test func `what dead processes left stays if an entry could not be placed`() throws {
    var failures = 0
    for place in 0..<1000 {
      let sandbox = try sandbox(.moved)
      try sandbox.makeDirectory("staging/0123456789abcdef")
      let (files, calls) = files(failing: .open, at: place)
      for finding in findings(ofOnePassOver: sandbox, files) where finding.kind == .entryMisplaced {
        guard case .failed = finding.outcome else { continue }
        failures += 1
        #expect(try sandbox.names("staging").contains("0123456789abcdef"), "\(place)")
      }
      if calls.value <= place { break }
    }
    #expect(failures > 0)
  }

  @Test(arguments: ["entries", "x", "shard"])
  func `what dead processes left stays if a directory with entries cannot be listed`(
    _ part: String
  ) throws {
    let sandbox = try sandbox(.moved)
    try sandbox.makeDirectory("staging/0123456789abcdef")
    // What takes room goes nevertheless.
    try sandbox.write("staging/0123456789abcdef/1", [1])
    let shard = try sandbox.directory(of: "b").dropFirst(8).prefix(2)
    let name = part == "shard" ? String(shard) : part
    let (files, calls) = (FaultyFiles(), CallCounter())
    // The first list is that of the search for lost records.
    files.faults.set { call in
      let isPart = part == "x" ? call.name.hasSuffix("x") : call.name == name
      guard call.kind == .list, isPart else { return nil }
      return part != "shard" || calls.next() > 0 ? .inputOutput : nil
    }
    #expect(findings(ofOnePassOver: sandbox, files).contains { $0.kind == .unreadable })
    #expect(try sandbox.names("staging") == ["0123456789abcdef"])
    #expect(try sandbox.names("staging/0123456789abcdef") == [])
  }

  /// Moves the files of an entry that no other one can restore into the directory of another key.
  ///
  /// - Returns: the name of that directory.
  private func hideAnEntry(of sandbox: CheckSandbox) throws -> String {
    let target = try sandbox.directory(of: "single3")
    try sandbox.fill { try $0.put([UInt8](repeating: 5, count: 5000), for: "hidden", variant: 5) }
    let directory = try sandbox.directory(of: "hidden")
    for file in try sandbox.names(directory) {
      try sandbox.move("\(directory)/\(file)", to: "\(target)/\(file)")
    }
    try sandbox.remove(directory)
    return String(target.suffix(30))
  }

  /// What cannot be read of the directory of a key with the only copy of another entry.
  @Test(arguments: [FileCall.Kind.list, .read])
  func `an entry in the directory of another key that cannot be read is not given up`(
    _ kind: FileCall.Kind
  ) throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    let name = try hideAnEntry(of: sandbox)
    let files = FaultyFiles()
    files.faults.set { call in
      let isPart = kind == .list ? call.name == name : call.name.hasPrefix("0000000000000005")
      return call.kind == kind && isPart ? .inputOutput : nil
    }
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(repaired.kinds.contains(.unreadable) && repaired.report.lostEntries == 0)
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
    try sandbox.fill { #expect($0.contains("hidden", variant: 5)) }
  }

  @Test func `entries beside one that cannot be read are placed`() throws {
    let sandbox = try sandbox(.moved)
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .read && call.name.hasPrefix("0000000000000000") ? .inputOutput : nil
    }
    let repaired = try sandbox.repair(.all, fileSystem: files)
    #expect(repaired.kinds.contains(.entryMisplaced) && repaired.report.lostEntries == 0)
    let target = try sandbox.directory(of: "a")
    #expect(try sandbox.names(target).contains("0000000000000001.json"))
    #expect(try !sandbox.names(target + "x").contains("0000000000000001.json"))
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try kept(sandbox) == 4)
  }

  @Test func `a repair that is cancelled moves no foreign directory`() throws {
    let sandbox = try sandbox(.moved)
    let target = try sandbox.directory(of: "a") + "x"
    let (files, listener) = (FaultyFiles(), Listener())
    var options = CheckOptions(repair: .all, jobs: 1)
    options.fileSystem = files
    let checker = StoreChecker(at: sandbox.root, options: options)
    files.faults.set { call in
      if call.kind == .list, call.name.hasSuffix("x") { checker.cancel() }
      return nil
    }
    #expect(throws: CheckError.self) { try checker.run(listener) }
    #expect(try sandbox.names(target).count == 4)
    #expect(try sandbox.names("quarantine") == [])
  }

  @Test func `with a damaged journal, an entry that cannot be placed is not given up`() throws {
    let sandbox = CheckSandbox()
    let model = try sandbox.fillModel()
    try sandbox.move(try sandbox.directory(of: "single5"), to: "entries/away")
    let records = try sandbox.records("journal/00000001.log")
    try sandbox.flip("journal/00000001.log", at: records[0].lowerBound + 20)
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == "away" ? .inputOutput : nil }
    #expect(try sandbox.repair(.all, fileSystem: files).report.lostEntries == 0)
    // One that writes compares its entries with the tree in the background, and gives this one up.
    let store = try Store(at: sandbox.root, options: Options(isReadOnly: true))
    #expect(store.info(for: "single5") != nil)
    store.close()
    #expect(try sandbox.expectRepaired().report.lostEntries == 0)
    #expect(try sandbox.kept(model) == model.all)
  }

  @Test(arguments: [false, true])
  func `with a damaged journal, an entry of which a later shard has the files is not given up`(
    isReadable: Bool
  ) throws {
    for settling in [Settling.atOnce, .within(seconds: 3_600)] {
      let sandbox = CheckSandbox()
      let model = try sandbox.fillModel(settling: settling)
      let directory = try sandbox.directory(of: "single7")
      let shard = directory.hasPrefix("entries/ff") ? "entries/fe" : "entries/ff"
      if try !sandbox.names("entries").contains(String(shard.suffix(2))) {
        try sandbox.makeDirectory(shard)
      }
      try sandbox.move(directory, to: "\(shard)/zz")
      let segment = "journal/" + (try #require(try sandbox.names("journal").last))
      try sandbox.flip(segment, at: try #require(try sandbox.records(segment).last).lowerBound + 20)
      let files = FaultyFiles()
      if !isReadable {
        files.faults.set { $0.kind == .list && $0.name == "zz" ? .inputOutput : nil }
      }
      let repaired = try sandbox.repair(.all, fileSystem: files)
      #expect(repaired.report.lostEntries == 0)
      #expect(repaired.kinds.contains(.unreadable) != isReadable)
      #expect(try sandbox.repair().report.lostEntries == 0)
      #expect(try sandbox.check(.deep).findings == [])
      #expect(try sandbox.kept(model) == model.all)
    }
  }

  @Test func `what could be an entry that cannot be read is not forecast as lost`() throws {
    let sandbox = try sandbox(.movedOneLevelDown)
    let files = FaultyFiles()
    files.faults.set { $0.kind == .list && $0.name == "x" ? .inputOutput : nil }
    let forecast = try sandbox.forecast(.deep, fileSystem: files)
    #expect(forecast.kinds.contains(.entryMissing) && forecast.report.lostEntries == 0)
  }

  private func findings(ofOnePassOver sandbox: CheckSandbox, _ files: FaultyFiles) -> [Finding] {
    let listener = Listener()
    var options = CheckOptions(depth: .deep, repair: .all, jobs: 1)
    options.fileSystem = files
    let checker = StoreChecker(at: sandbox.root, options: options)
    _ = try? CheckRun(checker, options, CheckPass(), listener, HashedFiles(keepsAll: true))
      .perform()
    return listener.findings
  }
}
