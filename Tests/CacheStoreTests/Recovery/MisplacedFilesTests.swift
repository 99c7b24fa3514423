import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Synchronization
import Testing

/// A comparison of tree and journal meets the files of entries in the directories of other keys, where
/// a user or a repair of the file system has put them.
@Suite struct MisplacedFilesTests {
  let sandbox = StoreSandbox()

  private static let keys: [ByteString] = ["key-a", "key-b", "key-c", "key-d"]
  private static func body(_ key: ByteString) -> [UInt8] {
    TestBody.make(5_000, seed: UInt64(key.bytes.last ?? 0))
  }

  private static func key(of metadata: [UInt8]) -> ByteString? {
    (try? MetadataDocument(decoding: metadata))?.entry.key
  }

  private func makeStore() throws {
    let store = try sandbox.open()
    for key in Self.keys { try store.put(Self.body(key), for: key) }
    store.close()
  }

  private func metadataFile(of key: ByteString) throws -> String {
    try #require(sandbox.metadataFiles.first { Self.key(of: sandbox.bytes($0)) == key })
  }

  private func directory(of key: ByteString) throws -> String {
    String(try metadataFile(of: key).split(separator: "/").dropLast().joined(separator: "/"))
  }

  private func exchange(_ one: String, _ other: String) throws {
    let files = FileManager.default
    try files.moveItem(atPath: sandbox.inside(one), toPath: sandbox.inside("moved"))
    try files.moveItem(atPath: sandbox.inside(other), toPath: sandbox.inside(one))
    try files.moveItem(atPath: sandbox.inside("moved"), toPath: sandbox.inside(other))
  }

  /// Makes a record of the journal damaged.
  private func damageRecord(of key: ByteString) throws {
    let segment = try #require(sandbox.segments.first)
    let found = Data(sandbox.bytes(segment)).firstRange(of: Data(key.bytes))
    sandbox.flip(segment, at: try #require(found).lowerBound)
  }

  private func compare(_ fileSystem: any FileSystem = RealFileSystem()) throws {
    try FileManager.default.createDirectory(
      atPath: sandbox.inside("staging/00000000000000aa"), withIntermediateDirectories: true)
    let store = try sandbox.open(Options(fileSystem: fileSystem))
    store.waitUntilIdle()
    #expect(store.lookUp("key-d").entry?.body == Self.body("key-d"))
    store.close()
  }

  private func expectHits(_ keys: [ByteString]) throws {
    let store = try sandbox.open()
    store.waitUntilIdle()
    for key in keys { #expect(store.lookUp(key).entry?.body == Self.body(key), "\(key)") }
    store.close()
  }

  /// Checks that a directory has the metadata file and the body of an entry.
  private func expectWhole(_ key: ByteString) throws {
    let directory = try directory(of: key)
    let bodies = sandbox.bodies.filter { $0.hasPrefix("\(directory)/") }.map { sandbox.bytes($0) }
    #expect(bodies.contains(Self.body(key)), "\(key)")
  }

  @Test(arguments: [false, true])
  func `exchanged directories keep their files`(isJournalDamaged: Bool) throws {
    try makeStore()
    try exchange(try directory(of: "key-a"), try directory(of: "key-b"))
    if isJournalDamaged { try damageRecord(of: "key-c") }
    try compare()
    try expectWhole("key-a")
    try expectWhole("key-b")
  }

  @Test(arguments: [false, true])
  func `a directory in the place of another one keeps its files`(isJournalDamaged: Bool) throws {
    try makeStore()
    let (one, other) = (try directory(of: "key-a"), try directory(of: "key-b"))
    sandbox.remove(other)
    try FileManager.default.moveItem(
      atPath: sandbox.inside(one), toPath: sandbox.inside(other))
    if isJournalDamaged { try damageRecord(of: "key-c") }
    try compare()
    try expectWhole("key-a")
  }

  @Test func `without hard links, the files of exchanged directories are copied`() throws {
    try makeStore()
    try exchange(try directory(of: "key-a"), try directory(of: "key-b"))
    let files = FaultyFiles()
    files.faults.set { $0.kind == .link ? SystemError(EPERM) : nil }
    try compare(files)
    try expectWhole("key-a")
    try expectWhole("key-b")
  }

  @Test func `a directory gets its name beside that of a key once its entry is complete`() throws {
    for place in 0..<1_000 {
      let test = MisplacedFilesTests()
      let sandbox = test.sandbox
      try test.makeStore()
      try test.exchange(try test.directory(of: "key-a"), try test.directory(of: "key-b"))
      let files = FaultyFiles()
      let count = Mutex(0)
      files.faults.set { call in
        // As after a kill, nothing more is changed.
        guard call.isChange else { return nil }
        let number = count.withLock { count -> Int in
          count += 1
          return count
        }
        return number > place ? .inputOutput : nil
      }
      _ = try? sandbox.open(Options(fileSystem: files)).close()
      for name in sandbox.tree("entries").keys where name.contains("-") && !name.contains(".") {
        #expect(sandbox.tree(name).count == 2, "\(place)")
      }
      try test.expectWhole("key-a")
      try test.expectWhole("key-b")
      if count.withLock({ $0 }) <= place { return }
    }
    Issue.record("there are more calls")
  }

  /// Makes the metadata file of another store, or one with a newer format.
  private func foreignDocument(isNewer: Bool) throws -> [UInt8] {
    let other = isNewer ? sandbox : StoreSandbox()
    let store = try other.open()
    defer { store.close() }
    try store.put([1], for: "foreign")
    let file = try #require(
      other.metadataFiles.first { Self.key(of: other.bytes($0)) == "foreign" })
    let document = other.bytes(file)
    try store.remove("foreign")
    if !isNewer { return document }
    let text = String(decoding: document.dropLast(36), as: UTF8.self)
    let covered = Array(text.replacing("\"format\": 1,", with: "\"format\": 9,").utf8)
    let sum = Hexadecimal.string(Checksum.of(covered, seed: store.hashSeed))
    return covered + Array(",\n \"checksum\": \"\(sum)\"\n}\n".utf8)
  }

  @Test(arguments: [false, true])
  func `files of another store, and of a newer format, are not touched`(isNewer: Bool) throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    for key in Self.keys { try store.put(Self.body(key), for: key) }
    try store.put([7], for: "embedded")
    try store.settle()
    store.close()
    let document = try foreignDocument(isNewer: isNewer)
    let directory = try directory(of: "key-a")
    let unread = try self.directory(of: "key-b")
    let files =
      try ["\(directory)/0000000000000007.json", metadataFile(of: "key-b")]
      + [metadataFile(of: "key-c"), metadataFile(of: "embedded")]
    let bodies = [directory, unread].map { "\($0)/\(String(repeating: "e", count: 32)).body" }
    for name in sandbox.bodies where name.hasPrefix(unread) { sandbox.remove(name) }
    for (name, bytes) in files.map({ ($0, document) }) + bodies.map({ ($0, [1, 2, 3]) }) {
      try Data(bytes).write(to: URL(fileURLWithPath: sandbox.inside(name)))
    }
    for _ in 0..<3 {
      let store = try sandbox.open()
      _ = ["key-b", "embedded"].map { store.lookUp($0) }
      store.waitUntilIdle()
      store.close()
      try compare()
      for name in files { #expect(sandbox.bytes(name) == document, "\(name)") }
      for name in bodies { #expect(sandbox.bytes(name) == [1, 2, 3]) }
    }
    try expectHits(["key-a", "key-c"])
  }

  @Test func `beside a foreign file, a removed entry does not come back`() throws {
    try makeStore()
    let document = try foreignDocument(isNewer: true)
    let directory = try directory(of: "key-a")
    try FileManager.default.copyItem(
      atPath: sandbox.inside(directory), toPath: sandbox.inside("kept"))
    let store = try sandbox.open()
    #expect(try store.remove("key-a") == 1)
    store.close()
    try FileManager.default.moveItem(
      atPath: sandbox.inside("kept"), toPath: sandbox.inside(directory))
    let foreign = "\(directory)/0000000000000007.json"
    try Data(document).write(to: URL(fileURLWithPath: sandbox.inside(foreign)))
    try compare()
    // The body may be that of the foreign file.
    #expect(sandbox.tree(directory).count == 2 && sandbox.bytes(foreign) == document)
    sandbox.remove("journal")
    let again = try sandbox.open()
    again.waitUntilIdle()
    #expect(!again.contains("key-a"))
    again.close()
  }

  @Test func `a file that cannot be read now, and that no entry has, is not removed`() throws {
    try makeStore()
    let document = try foreignDocument(isNewer: true)
    let foreign = "\(try directory(of: "key-a"))/0000000000000007.json"
    try Data(document).write(to: URL(fileURLWithPath: sandbox.inside(foreign)))
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name.hasSuffix("0000000000000007.json") ? SystemError(EMFILE) : nil
    }
    try compare(files)
    #expect(sandbox.bytes(foreign) == document)
    // The next opening looks at it again.
    #expect(!sandbox.sessions.isEmpty)
    try compare()
    #expect(sandbox.bytes(foreign) == document)
    try expectHits(Self.keys)
  }

  @Test func `an unreadable file that an entry has does not repeat the comparison`() throws {
    try makeStore()
    let directory = try directory(of: "key-a")
    let stray = "\(directory)/0000000000000007.json"
    try Data("{".utf8).write(to: URL(fileURLWithPath: sandbox.inside(stray)))
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name.hasSuffix("0000000000000000.json") ? SystemError(EMFILE) : nil
    }
    try compare(files)
    // No body beside it is removed, and the signs of the crash are.
    #expect(sandbox.bodies.contains { $0.hasPrefix("\(directory)/") })
    #expect(sandbox.sessions.isEmpty)
    #expect(!sandbox.metadataFiles.contains(stray))
    try expectHits(Self.keys)
  }

  @Test func `files that cannot be removed are not copied at each opening`() throws {
    try makeStore()
    try exchange(try directory(of: "key-a"), try directory(of: "key-b"))
    let names = Set(sandbox.tree("entries").keys)
    let files = FaultyFiles()
    let hasCopy = Mutex(false)
    // The first removal after a directory got its name is that of the original.
    files.faults.set { call in
      hasCopy.withLock { hasCopy in
        if call.kind == .rename, call.name.count == 39 { hasCopy = true }
        guard hasCopy, call.kind == .removeFile else { return nil }
        hasCopy = false
        return SystemError(EACCES)
      }
    }
    for _ in 0..<3 { try compare(files) }
    #expect(Set(sandbox.tree("entries").keys).symmetricDifference(names) == [])
    try expectWhole("key-a")
    try expectWhole("key-b")
  }

  @Test func `files that the journal writes again do not replace those of another entry`() throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    for key in Self.keys { try store.put(Self.body(key), for: key) }
    try store.put(TestBody.make(50_000, seed: 9), for: "key-x")
    try store.settle()
    store.close()
    let (one, other) = (try directory(of: "key-a"), try directory(of: "key-x"))
    sandbox.remove(one)
    try FileManager.default.moveItem(
      atPath: sandbox.inside(other), toPath: sandbox.inside(one))
    try compare()
    let directory = try directory(of: "key-x")
    #expect(directory != one)
    let bodies = sandbox.bodies.filter { $0.hasPrefix("\(directory)/") }
    #expect(bodies.map { sandbox.bytes($0) } == [TestBody.make(50_000, seed: 9)])
    try expectHits(["key-a"])
  }

  @Test func `exchanged metadata files are written again, because the journal has them`() throws {
    try makeStore()
    try exchange(try metadataFile(of: "key-a"), try metadataFile(of: "key-b"))
    try compare()
    sandbox.remove("journal")
    try expectHits(Self.keys)
  }

  @Test func `exchanged metadata files of a lost journal cost no body`() throws {
    try makeStore()
    let (one, other) = (try metadataFile(of: "key-a"), try metadataFile(of: "key-b"))
    try exchange(one, other)
    sandbox.remove("journal")
    try compare()
    try exchange(one, other)
    sandbox.remove("journal")
    try expectHits(Self.keys)
  }

  @Test func `copies beside the files of an entry cost it nothing`() throws {
    try makeStore()
    let (one, other) = (try directory(of: "key-a"), try directory(of: "key-b"))
    let files = FileManager.default
    for name in try files.contentsOfDirectory(atPath: sandbox.inside(one)) {
      sandbox.remove("\(other)/\(name)")
      try files.copyItem(
        atPath: sandbox.inside("\(one)/\(name)"), toPath: sandbox.inside("\(other)/\(name)"))
    }
    try compare()
    sandbox.remove("journal")
    try expectHits(Self.keys)
  }

  @Test func `an entry in the log before a lost record is copied to the quarantine`() throws {
    let store = try sandbox.open(settling: .within(seconds: 3_600))
    for key in Self.keys { try store.put(Self.body(key), for: key) }
    let other = StoreSandbox()
    try FileManager.default.copyItem(atPath: sandbox.root, toPath: other.root)
    store.close()
    let segment = try #require(other.segments.first)
    let found = Data(other.bytes(segment)).firstRange(of: Data("key-b".utf8))
    other.flip(segment, at: try #require(found).lowerBound)
    let again = try other.open()
    again.waitUntilIdle()
    #expect(again.statistics.entries == 2)
    #expect(again.lookUp("key-a").entry == nil)
    #expect(again.lookUp("key-c").entry?.body == Self.body("key-c"))
    again.close()
    let kept = other.quarantined.map { Data(other.bytes("quarantine/\($0)")) }
    #expect(kept.contains { $0.firstRange(of: Data(Self.body("key-a"))) != nil })
  }
}
