import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

/// Damage at the top of a store.
@Suite struct PlaceCheckTests {
  @Test(arguments: [0o400, 0o600] as [UInt32])
  func `a store whose folder its owner may not enter has one finding, which is repaired`(
    _ mode: UInt32
  ) throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let parts = Set(try sandbox.names("."))
    try sandbox.setMode("", mode)
    // Root may enter it all the same.
    let (files, root) = (FaultyFiles(), sandbox.root)
    files.faults.set { call in
      var found = stat()
      // Safety: the call fills the value.
      let isClosed = unsafe lstat(root, &found) == 0 && found.st_mode & 0o100 == 0
      return isClosed && parts.contains(call.name) ? SystemError(EACCES) : nil
    }
    #expect(try sandbox.check(fileSystem: files).kinds == [.wrongMode])
    let repaired = try sandbox.repair(.safe, fileSystem: files)
    #expect(repaired.kinds == [.wrongMode] && repaired.unrepaired == [])
    #expect(try sandbox.check(.deep).findings == [])
  }

  @Test func `a missing store.json is found, and the rest is checked`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.remove("store.json")
    let checked = try sandbox.check()
    #expect(checked.kinds == [.descriptionMissing])
    #expect(checked.report.entries == 1)
  }

  @Test func `a damaged store.json is found`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let bytes = try sandbox.bytes("store.json")
    try sandbox.flip("store.json", at: 50)
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
    try sandbox.write("store.json", Array(bytes.dropLast(1)))
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
    try sandbox.stretch("store.json", to: 1 << 40)
    #expect(try sandbox.check().kinds == [.descriptionDamaged])
  }

  @Test func `a store of a newer version is not checked`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.removeTree(part)
    let checked = try sandbox.check()
    #expect(checked.kinds == [.partMissing])
    #expect(checked.report.partialCause != nil)
  }

  @Test func `a link is of a wrong kind, and not followed`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
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
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.flip("CACHEDIR.TAG", at: 3)
    #expect(try sandbox.check().kinds == [.tagWrong])
    try sandbox.remove("CACHEDIR.TAG")
    #expect(try sandbox.check().kinds == [.tagWrong])
  }

  @Test(arguments: [FileCall.Kind.statusAt, .open, .read])
  func `a tag that cannot be read is neither missing nor wrong`(_ kind: FileCall.Kind) throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == kind && call.name == "CACHEDIR.TAG" ? .inputOutput : nil
    }
    #expect(try sandbox.repair(.safe, fileSystem: files).kinds == [.unreadable])
  }

  @Test func `a tag that its owner may not read has a wrong mode only`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.setMode("CACHEDIR.TAG", 0)
    let files = FaultyFiles()
    files.faults.set { call in
      call.kind == .open && call.name == "CACHEDIR.TAG" ? SystemError(EACCES) : nil
    }
    #expect(try sandbox.check(fileSystem: files).kinds == [.wrongMode])
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
