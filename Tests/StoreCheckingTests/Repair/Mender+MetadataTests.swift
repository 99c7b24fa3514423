import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct MenderMetadataTests {
  /// Opens a store, and gives a mender and the scene of an entry that is not in the index.
  private func withMender(
    _ body: (Mender, KeyScene, borrowing Descriptor, Digest) throws -> Void
  ) throws {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1, 2, 3], for: "a") }
    var options = Options(createsStore: false)
    options.isSupervised = true
    let store = try Store(at: sandbox.root, options: options)
    defer { store.close() }
    let hash = KeyHash(hashing: "a", seed: store.hashSeed)
    let directory = try RealFileSystem().open(
      userPath: sandbox.inside(try sandbox.key()), [.read, .directory])
    try body(
      try Mender(store, .all, CheckPass(), Flag()),
      KeyScene(hash: hash, IndexedKey()), directory,
      Digest(hashing: [1, 2, 3]))
  }

  /// Files in the directory of a key whose status cannot be read.
  private func failing(_ error: SystemError) -> FaultyFiles {
    let files = FaultyFiles()
    files.faults.set { call in
      let isOfKey = call.name.hasSuffix(".body") || call.name.hasSuffix("0000.json")
      return isOfKey && (call.kind == .statusAt || call.kind == .open) ? error : nil
    }
    return files
  }

  @Test(arguments: RepairLevel.allCases)
  func `an entry whose files cannot be examined is not missing, and is not given up`(
    _ level: RepairLevel
  ) throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let files = failing(.inputOutput)
    #expect(try sandbox.check(fileSystem: files).kinds == [.unreadable, .unreadable])
    let repaired = try sandbox.repair(level, fileSystem: files)
    #expect(repaired.unrepaired.map(\.kind) == [.unreadable, .unreadable])
    #expect(repaired.report.lostEntries == 0)
    let after = try sandbox.check(.deep)
    #expect(after.findings == [] && after.report.entries == 1)
  }

  @Test func `a directory that its owner may not search is reported for its mode alone`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.setMode(try sandbox.key(), 0o600)
    #expect(try sandbox.check(fileSystem: failing(SystemError(EACCES))).kinds == [.wrongMode])
  }

  @Test func `a body is used by an entry of the index`() throws {
    try withMender { mender, scene, directory, digest in
      let (used, other) = (
        try mender.isUsed(digest, scene, directory, except: 0),
        try mender.isUsed(Digest(hashing: [4]), scene, directory, except: nil)
      )
      #expect(used && !other)
    }
  }

  @Test func `beside more names than are read, every body may be used`() throws {
    try withMender { mender, scene, directory, _ in
      var scene = scene
      scene.uncountedNames = 1
      let isUsed = try mender.isUsed(Digest(hashing: [4]), scene, directory, except: nil)
      #expect(isUsed && mender.hasUnknown(scene))
    }
  }
}
