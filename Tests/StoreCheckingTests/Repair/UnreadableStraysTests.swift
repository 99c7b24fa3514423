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
  }

  private func findings(ofOnePassOver sandbox: CheckSandbox, _ files: FaultyFiles) -> [Finding] {
    let listener = Listener()
    let options = CheckOptions(depth: .deep, repair: .all, jobs: 1, fileSystem: files)
    let checker = StoreChecker(at: sandbox.root, options: options)
    _ = try? CheckRun(checker, options, listener, HashedFiles(keepsAll: true)).perform()
    return listener.findings
  }
}
