import CLibrary
import CacheFormat
import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore
@testable import StoreChecking

@Suite struct SceneReaderTests {
  /// Reads the scene of the key `a`.
  ///
  /// - Parameter rule: says which calls of the reader fail.
  private func scene(
    _ sandbox: CheckSandbox, isDeep: Bool = false, _ rule: Faults.Rule? = nil,
    examine: (SceneReader) -> Void = { _ in }
  ) throws -> KeyScene {
    let files = FaultyFiles()
    var options = Options(isReadOnly: true, createsStore: false, fileSystem: files)
    options.isSupervised = true
    let engine = try Store(at: sandbox.root, options: options)
    defer { engine.close() }
    let store = CheckedStore(engine, owner: geteuid())
    let bodies = BodyHasher(files, hashSeed: store.hashSeed, HashedFiles(keepsAll: false)) { false }
    let hash = KeyHash(hashing: "a", seed: store.hashSeed)
    let indexed = try store.indexed([hash])[0]
    let shard = try files.open(
      Layout.shard(Layout.shardNumber(of: hash)), in: store.entries.directory, [.read, .directory])
    let reader = SceneReader(store, bodies, SharedFiles(), isDeep: isDeep)
    files.faults.set(rule)
    defer { files.faults.set(nil) }
    let scene = reader.read(hash, indexed, in: shard.raw)
    examine(reader)
    return scene
  }

  /// Makes a store with one entry.
  private func one(_ body: [UInt8] = [1, 2, 3]) throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put(body, for: "a") }
    return sandbox
  }

  @Test func `a key has its slot, its metadata file and its body`() throws {
    let sandbox = try one()
    for isDeep in [false, true] {
      let scene = try scene(
        sandbox, isDeep: isDeep,
        examine: { reader in
          #expect(reader.files == 3 && reader.failure == nil)
        })
      let slot = try #require(scene.slots.first)
      #expect(scene.slots.count == 1 && scene.metadata.count == 1 && !scene.lacks(slot))
      guard case .document(let facts)? = scene.metadata[0]?.reading else {
        Issue.record("no document")
        continue
      }
      #expect(
        facts.key == "a" && facts.length == 3 && !facts.hasBody && facts.keyHash == slot.keyHash)
      #expect(scene.bodies[slot.digest]?.reading == (isDeep ? .right : .notRead))
      #expect(scene.strays.isEmpty && scene.uncountedNames == 0 && scene.differences.isEmpty)
    }
  }

  @Test(arguments: [0, 64, 65, 1_022, 1_024, 1_030])
  func `of foreign names the first are kept, the others counted`(count: Int) throws {
    let sandbox = try one()
    let key = try sandbox.key()
    for number in 0..<count { try sandbox.write("\(key)/\(number)", []) }
    let scene = try scene(sandbox)
    #expect(scene.strays.count == min(count, CheckLimits.strays))
    #expect(scene.strays.count + scene.uncountedNames == count)
    // What the index knows is found among them.
    #expect(scene.metadata.count == 1 && scene.bodies.count == 1)
  }

  @Test func `odd names are foreign, and only the right ones belong to a key`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    let digest = String(repeating: "0", count: 32)
    let names = [
      "\n", "\u{1b}[31m", " ", String(repeating: "x", count: 255), "0.json",
      "0000000000000000.JSON",
      "0000000000000000.json ", "00000000000000001.json", "000000000000000g.json", ".body",
      "\(digest).bod", "\(digest)0.body", "\(digest.dropLast()).body", "\(digest.dropLast())A.body",
    ]
    for name in names { try sandbox.write("\(key)/\(name)", [1]) }
    try sandbox.write("\(key)/\(digest).body", [1])
    try sandbox.write("\(key)/ffffffffffffffff.json", [1])
    let scene = try scene(sandbox)
    #expect(Set(scene.strays.map(\.name.text)) == Set(names))
    #expect(Set(scene.metadata.keys) == [0, .max] && scene.bodies.count == 2)
  }

  @Test func `what stands in the place of a file is not opened`() throws {
    let sandbox = try one()
    let (body, metadata) = (try sandbox.body(), try sandbox.metadata())
    for plant in [
      { try sandbox.plantFifo($0) }, { try sandbox.makeDirectory($0) },
      { try sandbox.plantLink($0, to: "/dev/zero") }, { try sandbox.plantLink($0, to: "none") },
    ] as [(String) throws -> Void] {
      for path in [body, metadata] {
        try sandbox.remove(path)
        try plant(path)
      }
      let scene = try scene(sandbox, isDeep: true) { call in
        let isFile = call.name.hasSuffix(".json") || call.name.hasSuffix(".body")
        #expect(call.kind != .open || !isFile, "\(call.name) is opened")
        return nil
      }
      guard case .wrongKind? = scene.metadata[0]?.reading else {
        Issue.record("it is a file")
        continue
      }
      #expect(scene.bodies.values.first?.reading == .notRead)
    }
  }

  @Test func `a long metadata file is refused with its length, and a long body is not read`() throws
  {
    let sandbox = try one()
    try sandbox.stretch(try sandbox.metadata(), to: MetadataDocument.maximumBytes + 1)
    try sandbox.stretch(try sandbox.body(), to: 1 << 40)
    let scene = try scene(sandbox, isDeep: true)
    guard case .damaged(let error)? = scene.metadata[0]?.reading else {
      Issue.record("it was read")
      return
    }
    #expect(error.code == .tooLarge)
    #expect(error.detail.contains("\(MetadataDocument.maximumBytes + 1)"))
    #expect(scene.bodies.values.first?.status.length == 1 << 40)
    #expect(scene.bodies.values.first?.reading == .notRead)
  }

  @Test func `a directory that is missing, of another kind, or unreadable is told as such`() throws
  {
    let sandbox = try one()
    let key = try sandbox.key()
    func state(_ rule: Faults.Rule? = nil) throws -> String {
      "\(try scene(sandbox, rule).directory)".prefix { $0 != "(" }.description
    }
    #expect(try state() == "directory")
    for error in [SystemError.inputOutput, SystemError(EACCES)] {
      #expect(try state { $0.kind == .list ? error : nil } == "unreadable")
    }
    let none = try scene(
      sandbox, { $0.kind == .open ? SystemError(EMFILE) : nil },
      examine: { #expect($0.failure == SystemError(EMFILE)) })
    #expect(none.metadata.isEmpty)
    // It goes while it is read.
    #expect(try state { $0.kind == .list || $0.kind == .statusAt ? .notFound : nil } == "missing")
    try sandbox.removeTree(key)
    #expect(try state() == "missing")
    for plant in [{ try sandbox.write(key, [1]) }, { try sandbox.plantLink(key, to: "..") }] {
      try plant()
      #expect(try state() == "other")
      try sandbox.remove(key)
    }
  }

  @Test func `files that go or fail while they are read are missing or unreadable`() throws {
    let sandbox = try one()
    let opensMetadata = { @Sendable (call: FileCall) in
      call.kind == .open && call.name.hasSuffix(".json")
    }
    #expect(try scene(sandbox) { opensMetadata($0) ? .notFound : nil }.metadata.isEmpty)
    let unreadable = try scene(sandbox) { opensMetadata($0) ? .inputOutput : nil }
    guard case .unreadable(.inputOutput)? = unreadable.metadata[0]?.reading else {
      Issue.record("it was read")
      return
    }
    // Not even their status can be read.
    let failing = try scene(sandbox) {
      opensMetadata($0) || $0.kind == .statusAt ? .inputOutput : nil
    }
    #expect(failing.metadata.isEmpty && failing.bodies.isEmpty)
    #expect(failing.unreadable.map(\.error) == [.inputOutput, .inputOutput])
    #expect(!failing.lacks(try #require(failing.slots.first)))
    let gone = try scene(sandbox) {
      $0.kind == .statusAt && $0.name.hasSuffix(".body") ? .notFound : nil
    }
    #expect(gone.bodies.isEmpty && gone.unreadable.isEmpty)
    let deep = try scene(sandbox, isDeep: true) { $0.kind == .read ? .inputOutput : nil }
    #expect(deep.bodies.values.first?.reading == .unreadable(.inputOutput))
  }
}
