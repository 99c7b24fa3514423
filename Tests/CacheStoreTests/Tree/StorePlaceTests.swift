import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

/// Bad input: each case has a defined answer.
@Suite struct StorePlaceTests {
  let sandbox = StoreSandbox()
  var files: FileManager { .default }

  private func makeStore() throws {
    let store = try sandbox.open()
    for number in 0..<5 { try store.put([UInt8(number)], for: ByteString("k\(number)")) }
    store.close()
  }

  private func checkEntries(_ store: Store) {
    for number in 0..<5 {
      #expect(store.lookUp(ByteString("k\(number)")).entry?.body == [UInt8(number)])
    }
  }

  @Test func `a path that is a file is refused`() throws {
    let path = sandbox.path + "/file"
    #expect(files.createFile(atPath: path, contents: Data([1])))
    #expect(throws: failure(.notADirectory, path, errno: ENOTDIR)) { try Store(at: path) }
    let below = path + "/store"
    #expect(throws: failure(.notADirectory, below, errno: ENOTDIR)) { try Store(at: below) }
    #expect(files.contents(atPath: path) == Data([1]))
  }

  @Test func `a path that no file can have is refused, and says why`() throws {
    let cut = sandbox.root + "/a\0b"
    #expect(throws: failure(.notFound, cut)) { try Store(at: cut) }
    #expect(!files.fileExists(atPath: sandbox.root))
    let long = sandbox.path + "/" + String(repeating: "a", count: 300)
    #expect(throws: failure(.notFound, long, errno: ENAMETOOLONG)) { try Store(at: long) }
  }

  @Test(arguments: [
    ["thesis.txt"], ["lock"], ["CACHEDIR.TAG"], ["journal/2026-11-28.md"], ["journal/.keep"],
    ["entries/3f0"], ["staging/x"], ["lock/x"], ["journal", "thesis.txt"], ["quarantine/x", "x"],
    ["store.json"], ["store.json", "thesis.txt"], ["store.json.new", "x"],
  ])
  func `a directory with other things in it is refused and left alone`(names: [String]) throws {
    for name in names {
      let path = sandbox.inside(name)
      try files.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      if name == "journal" {
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
      } else {
        #expect(files.createFile(atPath: path, contents: Data("of a user".utf8)))
      }
    }
    let before = sandbox.tree()
    #expect(throws: failure(.notAStore, sandbox.root)) { try sandbox.open() }
    #expect(sandbox.tree() == before)
  }

  @Test func `a store of which only its description was synced is one`() throws {
    try makeStore()
    let description = sandbox.bytes("store.json")
    try files.removeItem(atPath: sandbox.root)
    try files.createDirectory(atPath: sandbox.root, withIntermediateDirectories: true)
    let path = sandbox.inside("store.json.new")
    #expect(files.createFile(atPath: path, contents: Data(description)))
    try makeStore()
    checkEntries(try sandbox.open())
    #expect(!files.fileExists(atPath: path))
  }

  @Test func `what a power cut has left of a new store is one`() throws {
    let store = try sandbox.open()
    store.close()
    let tag = try Data(contentsOf: URL(filePath: sandbox.inside("CACHEDIR.TAG")))
    for name in Layout.topNames {
      try files.removeItem(atPath: sandbox.root)
      try files.createDirectory(atPath: sandbox.root, withIntermediateDirectories: true)
      let path = sandbox.inside(name)
      switch name {
      case "CACHEDIR.TAG": #expect(files.createFile(atPath: path, contents: tag.prefix(50)))
      case "lock", "store.json", "store.json.new":
        #expect(files.createFile(atPath: path, contents: Data(count: 28)))
      default: try files.createDirectory(atPath: path, withIntermediateDirectories: true)
      }
      let store = try sandbox.open()
      try store.put([1], for: "a")
      #expect(store.lookUp("a").entry?.body == [1], "\(name)")
      store.close()
    }
  }

  @Test(arguments: [
    (EACCES, StoreError.Code.permissionDenied), (EPERM, .permissionDenied), (EROFS, .readOnly),
    (EIO, .inputOutput), (ENOSPC, .noSpace),
  ])
  func `a root that cannot be opened says why`(code: Int32, expected: StoreError.Code) {
    let faulty = FaultyFiles()
    faulty.faults.set { $0.kind == .openUserPath ? SystemError(code) : nil }
    #expect(throws: failure(expected, sandbox.root, errno: code)) {
      try sandbox.open(Options(fileSystem: faulty))
    }
  }

  @Test(arguments: [EACCES, EROFS, ENOSPC])
  func `a place where no directory can be made says why`(code: Int32) {
    let faulty = FaultyFiles()
    faulty.faults.set { $0.isChange ? SystemError(code) : nil }
    let error = #expect(throws: StoreError.self) { try sandbox.open(Options(fileSystem: faulty)) }
    let codes: [Int32: StoreError.Code] = [
      EACCES: .permissionDenied, EROFS: .readOnly, ENOSPC: .noSpace,
    ]
    #expect(error?.code == codes[code])
    #expect(error?.errno == code)
    #expect(FileFacts(sandbox.root) == nil)
  }

  @Test func `a store on a read-only file system opens for reading alone`() throws {
    try makeStore()
    let faulty = FaultyFiles()
    faulty.faults.set { call in
      call.isChange || call.options.contains(.write) ? .readOnlyFileSystem : nil
    }
    let error = #expect(throws: StoreError.self) { try sandbox.open(Options(fileSystem: faulty)) }
    #expect(error?.code == .readOnly)
    #expect(error?.errno == EROFS)
    faulty.faults.set { call in
      call.isChange || call.options.contains(.write) ? .readOnlyFileSystem : nil
    }
    let store = try sandbox.open(Options(isReadOnly: true, fileSystem: faulty))
    checkEntries(store)
    store.close()
    #expect(!faulty.faults.calls.contains { $0.isChange })
  }

  #if os(Linux)
    @Test func `a user without permission is told so`() async {
      // In a process of its own, which gives its rights away.
      await #expect(processExitsWith: .success) {
        let sandbox = StoreSandbox()
        _ = try sandbox.open().put([1], for: "k")
        #expect(unsafe chmod(sandbox.root, 0) == 0)
        if geteuid() == 0 { #expect(seteuid(65_534) == 0) }
        #expect(throws: failure(.permissionDenied, sandbox.root, errno: EACCES)) {
          try sandbox.open()
        }
        if getuid() == 0 { #expect(seteuid(0) == 0) }
        #expect(unsafe chmod(sandbox.root, 0o700) == 0)
      }
    }
  #endif

  @Test func `a store of another owner is refused`() throws {
    try makeStore()
    let faulty = FaultyFiles()
    faulty.faults.owner = geteuid() &+ 1
    for isReadOnly in [false, true] {
      #expect(throws: failure(.foreignOwner, sandbox.root)) {
        try sandbox.open(Options(isReadOnly: isReadOnly, fileSystem: faulty))
      }
    }
  }

  @Test func `a newer format is refused and nothing is changed`() throws {
    try makeStore()
    let text = String(decoding: sandbox.bytes("store.json"), as: UTF8.self)
    var newer = Array(text.replacing("\"format\": 1,", with: "\"format\": 2,").utf8)
    // The checksum of the newer document, as a newer version would have written it.
    let mark = Array(",\n \"checksum\": \"".utf8)
    let place = try #require(
      newer.indices.last { newer[$0...].starts(with: mark) })
    newer.replaceSubrange(
      (place + mark.count)..<(place + mark.count + 16),
      with: hex(Checksum.of(Array(newer[..<place]))))
    sandbox.overwrite("store.json", newer)
    let before = sandbox.tree()
    for isReadOnly in [false, true] {
      #expect(throws: failure(.newerFormat, sandbox.inside("store.json"))) {
        try sandbox.open(Options(isReadOnly: isReadOnly))
      }
    }
    #expect(sandbox.tree() == before)
  }

  private func hex(_ value: UInt64) -> [UInt8] {
    let digits = String(value, radix: 16)
    return Array((String(repeating: "0", count: 16 - digits.count) + digits).utf8)
  }

  @Test func `a newer segment of the journal is refused and nothing is changed`() throws {
    try makeStore()
    let name = try #require(sandbox.segments.first)
    var bytes = sandbox.bytes(name)
    bytes[8] = 3
    let sum = Checksum.of(Array(bytes[..<56]))
    for byte in 0..<8 { bytes[56 + byte] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * byte)) }
    sandbox.overwrite(name, bytes)
    let before = sandbox.tree()
    #expect(throws: failure(.newerFormat, sandbox.inside(name))) { try sandbox.open() }
    #expect(sandbox.tree() == before)
  }

  @Test(arguments: ["damaged", "short", "missing", "directory", "link", "empty"])
  func `store json is restored from the journal`(damage: String) throws {
    try makeStore()
    let original = sandbox.bytes("store.json")
    let outside = sandbox.path + "/outside"
    #expect(files.createFile(atPath: outside, contents: Data(original)))
    switch damage {
    case "damaged": sandbox.flip("store.json", at: 30)
    case "short": sandbox.overwrite("store.json", Array(original.prefix(40)))
    case "empty": sandbox.overwrite("store.json", [])
    case "link": try sandbox.plantLink("store.json", to: outside)
    default:
      sandbox.remove("store.json")
      if damage == "directory" {
        try files.createDirectory(
          atPath: sandbox.inside("store.json"), withIntermediateDirectories: true)
      }
    }
    let store = try sandbox.open()
    checkEntries(store)
    #expect(FileFacts(sandbox.inside("store.json"))?.isLink == false)
    let (was, now) = (
      try StoreDescription(decoding: original),
      try StoreDescription(decoding: sandbox.bytes("store.json"))
    )
    #expect(now.id == was.id)
    #expect(now.hashSeed == was.hashSeed)
    #expect(files.contents(atPath: outside) == Data(original))
  }

  @Test func `without store json and journal the seed is that of the metadata`() throws {
    try makeStore()
    let seed = try StoreDescription(decoding: sandbox.bytes("store.json")).hashSeed
    sandbox.remove("store.json")
    sandbox.remove("journal")
    let store = try sandbox.open()
    checkEntries(store)
    store.waitUntilIdle()
    #expect(store.statistics.entries == 5)
    #expect(try StoreDescription(decoding: sandbox.bytes("store.json")).hashSeed == seed)
    store.close()
    checkEntries(try sandbox.open())
  }

  // MARK: Links

  /// What stands beside the store and must stay as it is.
  private func plantOutside() throws -> (path: String, facts: () -> [String: FileFacts]) {
    let outside = sandbox.path + "/outside"
    try files.createDirectory(atPath: outside + "/inner", withIntermediateDirectories: true)
    #expect(files.createFile(atPath: outside + "/file", contents: Data([1, 2, 3])))
    return (
      outside,
      {
        var all: [String: FileFacts] = ["": FileFacts(outside)].compactMapValues { $0 }
        for name in ["inner", "file"] { all[name] = FileFacts(outside + "/" + name) }
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: outside)) ?? []
        for name in names { all[name] = FileFacts(outside + "/" + name) }
        return all
      }
    )
  }

  enum Obstacle: String, CaseIterable, Sendable { case link, file, fifo }

  @Test(
    .timeLimit(.minutes(5)), arguments: ["journal", "entries", "staging", "quarantine", "lock"],
    Obstacle.allCases)
  func `what stands in place of a part of the store is moved away unopened`(
    name: String, obstacle: Obstacle
  ) throws {
    try makeStore()
    let outside = try plantOutside()
    let before = outside.facts()
    sandbox.remove(name)
    switch obstacle {
    case .link:
      try sandbox.plantLink(name, to: outside.path + (name == "lock" ? "/file" : ""))
    case .file where name == "lock":
      // A file is what belongs there; a directory does not.
      try files.createDirectory(atPath: sandbox.inside(name), withIntermediateDirectories: true)
    case .file:
      #expect(files.createFile(atPath: sandbox.inside(name), contents: Data([1])))
    case .fifo: #expect(unsafe mkfifo(sandbox.inside(name), 0o600) == 0)
    }
    let store = try sandbox.open()
    // Only the entries are lost where their directory is.
    if name != "entries" { checkEntries(store) }
    try store.put([5], for: "new")
    #expect(store.lookUp("new").entry?.body == [5])
    store.waitUntilIdle()
    store.close()
    let set = try files.subpathsOfDirectory(atPath: sandbox.inside("quarantine"))
    let moved = name == "quarantine" ? "quarantine-" : name
    #expect(set.contains { $0.contains("/files/" + moved) }, "\(set)")
    #expect(outside.facts() == before)
  }

  enum Plant: String, CaseIterable, Sendable { case link, danglingLink, file, directory, fifo }
  enum Spot: String, CaseIterable, Sendable { case shard, key, body, metadata }

  /// Puts something foreign in place of a part of the only entry.
  private func plant(_ plant: Plant, at spot: Spot, outside: String) throws {
    let body = try #require(sandbox.bodies.first)
    let parts = body.split(separator: "/").map(String.init)
    let name: String
    switch spot {
    case .shard: name = parts[..<2].joined(separator: "/")
    case .key: name = parts[..<3].joined(separator: "/")
    case .body: name = body
    case .metadata: name = try #require(sandbox.metadataFiles.first)
    }
    sandbox.remove(name)
    switch plant {
    case .link:
      let isFile = spot == .body || spot == .metadata
      try sandbox.plantLink(name, to: outside + (isFile ? "/file" : "/inner"))
    case .danglingLink: try sandbox.plantLink(name, to: outside + "/nothing")
    case .file: #expect(files.createFile(atPath: sandbox.inside(name), contents: Data([1, 2, 4])))
    case .directory:
      try files.createDirectory(atPath: sandbox.inside(name), withIntermediateDirectories: true)
    case .fifo: #expect(unsafe mkfifo(sandbox.inside(name), 0o600) == 0)
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: Spot.allCases, Plant.allCases)
  func `what is planted in the tree is neither followed nor waited for`(spot: Spot, plant: Plant)
    throws
  {
    let outside = try plantOutside()
    var store = try sandbox.open()
    try store.put([1, 2, 3], for: "k", metadata: EntryMetadata(status: 200))
    try self.plant(plant, at: spot, outside: outside.path)
    let before = outside.facts()
    for _ in 0..<2 {
      // With the metadata planted the journal still has all; otherwise the entry cannot be there.
      let found = store.lookUp("k").entry
      #expect(found?.body == (spot == .metadata ? [1, 2, 3] : nil))
      if case .hit(_, let reader) = store.read("k") {
        // A body of the right length is found out with its last piece.
        #expect((try? reader.read(upTo: 10)) == (spot == .metadata ? [1, 2, 3] : nil))
      }
      store.waitUntilIdle()
      store.close()
      store = try sandbox.open()
    }
    try store.put([5], for: "k")
    #expect(store.lookUp("k").entry?.body == [5])
    #expect(try sandbox.open().lookUp("k").entry?.body == [5])
    try store.removeAll()
    store.waitUntilIdle()
    try store.put([6], for: "k")
    #expect(store.lookUp("k").entry?.body == [6])
    #expect(outside.facts() == before)
  }

  @Test func `links in staging and quarantine are removed and not followed`() throws {
    try makeStore()
    let outside = try plantOutside()
    let before = outside.facts()
    // A dead session with a link in it, and a link in the place of a session.
    try files.createDirectory(
      atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
    try sandbox.plantLink("staging/00000000000000aa/link", to: outside.path)
    try sandbox.plantLink("staging/00000000000000bb", to: outside.path)
    let store = try sandbox.open()
    store.waitUntilIdle()
    #expect(FileFacts(sandbox.inside("staging/00000000000000aa")) == nil)
    checkEntries(store)
    #expect(outside.facts() == before)
  }
}
