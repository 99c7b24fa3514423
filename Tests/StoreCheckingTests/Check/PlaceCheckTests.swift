import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing

/// Damage at the top of a store, and what does not belong into it anywhere.
@Suite struct PlaceCheckTests {
  private func one() throws -> CheckSandbox {
    let sandbox = CheckSandbox()
    try sandbox.fill { try $0.put([1, 2, 3], for: "a") }
    return sandbox
  }

  @Test func `a missing store.json is found, and the rest is checked`() throws {
    let sandbox = try one()
    try sandbox.remove("store.json")
    let checked = try sandbox.check()
    #expect(checked.kinds == [.descriptionMissing])
    #expect(checked.report.entries == 1)
  }

  @Test func `a damaged store.json is found`() throws {
    let sandbox = try one()
    let bytes = try sandbox.bytes("store.json")
    try sandbox.flip("store.json", at: 50)
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
    try sandbox.write("store.json", Array(bytes.dropLast(1)))
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
    try sandbox.stretch("store.json", to: 1 << 40)
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
  }

  @Test func `a store of a newer version is not checked`() throws {
    let sandbox = try one()
    let text = String(decoding: try sandbox.bytes("store.json"), as: UTF8.self)
      .replacing("\"format\": 1", with: "\"format\": 2")
    let covered = Array(text.utf8.dropLast(36))
    try sandbox.write(
      "store.json",
      covered
        + Array(",\n \"checksum\": \"\(Hexadecimal.string(Checksum.of(covered)))\"\n}\n".utf8))
    #expect(throws: CheckError.self) { try sandbox.check() }
  }

  @Test func `a seed that nothing tells any more is lost`() throws {
    let sandbox = try one()
    try sandbox.remove("store.json")
    try sandbox.remove("journal/00000001.log")
    try sandbox.remove(try sandbox.metadata())
    let checked = try sandbox.check()
    #expect(checked.kinds == [.descriptionMissing, .seedLost])
    #expect(checked.report.partialCause != nil)
  }

  @Test(arguments: ["lock", "staging", "quarantine"])
  func `without a part the entries are checked, and the report says what was not`(
    _ part: String
  ) throws {
    let sandbox = try one()
    try sandbox.removeTree(part)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.partMissing])
    #expect(checked.paths(.partMissing) == [part])
    #expect(checked.report.partialCause != nil)
    try sandbox.cut(try sandbox.body(), by: 1)
    #expect(try sandbox.check().kinds == [.bodyShort, .partMissing])
  }

  @Test(arguments: ["entries", "journal"])
  func `a missing directory is found`(_ part: String) throws {
    let sandbox = try one()
    try sandbox.removeTree(part)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.partMissing])
    #expect(checked.report.partialCause != nil)
  }

  @Test func `a link is of a wrong kind, and not followed`() throws {
    let sandbox = try one()
    try sandbox.move("entries", to: "../elsewhere")
    try sandbox.plantLink("entries", to: "../elsewhere")
    #expect(try sandbox.check(.deep).kinds == [.partMissing, .wrongKind])
    try sandbox.remove("entries")
    try sandbox.move("../elsewhere", to: "entries")
    let body = try sandbox.body()
    try sandbox.move(body, to: "../body")
    try sandbox.plantLink(body, to: sandbox.path + "/body")
    #expect(try sandbox.check(.deep).kinds == [.bodyMissing, .wrongKind])
  }

  @Test func `fifos, endless devices and directories are not opened as files`() throws {
    let sandbox = try one()
    let body = try sandbox.body()
    let metadata = try sandbox.metadata()
    try sandbox.remove(body)
    try sandbox.plantFifo(body)
    try sandbox.remove(metadata)
    try sandbox.plantLink(metadata, to: "/dev/zero")
    #expect(
      try sandbox.check(.deep).kinds == [.bodyMissing, .metadataMissing, .wrongKind, .wrongKind])
    try sandbox.remove(body)
    try sandbox.makeDirectory(body)
    try sandbox.remove(metadata)
    try sandbox.makeDirectory(metadata)
    #expect(
      try sandbox.check(.deep).kinds == [.bodyMissing, .metadataMissing, .wrongKind, .wrongKind])
  }

  @Test func `a file in place of a directory is of a wrong kind`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    try sandbox.removeTree(key)
    try sandbox.write(key, [1])
    #expect(try sandbox.check().kinds == [.entryMissing, .wrongKind])
    try sandbox.remove(key)
    let shard = String(key.prefix(10))
    try sandbox.remove(shard)
    try sandbox.plantFifo(shard)
    #expect(try sandbox.check().kinds == [.entryMissing, .wrongKind])
  }

  @Test func `modes are found that let others in`() throws {
    let sandbox = try one()
    let paths = [
      "store.json", "CACHEDIR.TAG", "lock", "journal/00000001.log", try sandbox.body(),
      try sandbox.metadata(),
    ]
    for path in paths { try sandbox.setMode(path, 0o644) }
    let directories = ["journal", "entries", "staging", "quarantine", try sandbox.key()]
    for path in directories { try sandbox.setMode(path, 0o755) }
    let checked = try sandbox.check()
    #expect(checked.kinds == Array(repeating: .wrongMode, count: 11))
    #expect(checked.paths(.wrongMode) == (paths + directories).sorted())
    for path in paths { try sandbox.setMode(path, 0o700) }
    for path in directories { try sandbox.setMode(path, 0o2700) }
    #expect(try sandbox.check().findings == [])
  }

  @Test func `a missing or changed tag is found`() throws {
    let sandbox = try one()
    try sandbox.flip("CACHEDIR.TAG", at: 3)
    #expect(try sandbox.check().kinds == [.tagWrong])
    try sandbox.remove("CACHEDIR.TAG")
    #expect(try sandbox.check().kinds == [.tagWrong])
  }

  @Test func `foreign names are found wherever they are`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    let places = [
      "notes.txt", "entries/zz", "entries/3F", "\(key.prefix(10))/x", "\(key)/x", "journal/x",
      "journal/7fffffff.log", "staging/x",
    ]
    for place in places { try sandbox.write(place, [1]) }
    try sandbox.write("quarantine/x", [1])
    let checked = try sandbox.check()
    #expect(checked.kinds == Array(repeating: .foreignFile, count: places.count))
    #expect(checked.paths(.foreignFile) == places.sorted())
  }

  @Test func `very many foreign names are counted`() throws {
    let sandbox = try one()
    let key = try sandbox.key()
    for number in 0..<200 { try sandbox.write("\(key.prefix(10))/stray \(number)", []) }
    for number in 0..<1100 { try sandbox.write("\(key)/stray \(number)", []) }
    let checked = try sandbox.check()
    #expect(checked.paths(.foreignFile).count == 65 + 65)
    #expect(checked.findings.contains { $0.detail == "136 more foreign names" })
    #expect(checked.findings.contains { $0.detail == "1036 more foreign names" })
  }

  @Test func `names that are no text are found with their bytes`() throws {
    let sandbox = try one()
    let root = try RealFileSystem().open(userPath: sandbox.root, [.read, .directory])
    let name = try #require(PathName(bytes: [0x61, 0xFF, 0x0A, 0x80]))
    _ = try RealFileSystem().open(name, in: root, [.write, .create])
    let checked = try sandbox.check()
    #expect(checked.findings.map(\.path) == [[0x61, 0xFF, 0x0A, 0x80]])
  }

  @Test func `directories nested very deep are not walked`() throws {
    let sandbox = try one()
    let files = RealFileSystem()
    var directory = try files.open(userPath: sandbox.root + "/entries", [.read, .directory])
    for _ in 0..<2000 {
      try files.makeDirectory(PathName("d"), in: directory.raw, mode: 0o700)
      directory = try files.open(PathName("d"), in: directory, [.read, .directory])
    }
    #expect(try sandbox.check(.deep).kinds == [.foreignFile])
  }

  @Test func `what a killed process left is found`() throws {
    let sandbox = try one()
    try sandbox.makeDirectory("staging/0123456789abcdef")
    try sandbox.write("staging/0123456789abcdef/1", [1])
    try sandbox.write("store.json.new", [1])
    try sandbox.write("journal/new", [1])
    let checked = try sandbox.check()
    #expect(
      checked.paths(.stagingLeft) == ["journal/new", "staging/0123456789abcdef", "store.json.new"])
    #expect(checked.findings.count == 3)
  }

  @Test(arguments: [nil, "", "something", "lock", "CACHEDIR.TAG", "journal/2026-11-28.md"])
  func `what is no store is refused, and left alone`(_ name: String?) throws {
    let sandbox = CheckSandbox()
    if let name {
      try sandbox.makeDirectory("")
      if name.contains("/") { try sandbox.makeDirectory("journal") }
      if !name.isEmpty { try sandbox.write(name, [1]) }
    }
    #expect(throws: CheckError.self) { try sandbox.check() }
    #expect(throws: CheckError.self) { try sandbox.repair(.all) }
    if let name, !name.isEmpty { #expect(try sandbox.bytes(name) == [1]) }
  }
}
