import CacheSystem
import SimulatedFiles
import StoreChecking
import Testing

@Suite struct StrayNamesTests {
  @Test func `foreign names are found wherever they are`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
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

  @Test func `names that are no text are found with their bytes`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let root = try RealFileSystem().open(userPath: sandbox.root, [.read, .directory])
    let name = try #require(PathName(bytes: [0x61, 0xFF, 0x0A, 0x80]))
    _ = try RealFileSystem().open(name, in: root, [.write, .create])
    let checked = try sandbox.check()
    #expect(checked.findings.map(\.path) == [[0x61, 0xFF, 0x0A, 0x80]])
  }

  @Test func `each part with a wrong mode is told, however many there are`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    let present = try sandbox.names("entries")
    let shards = (0..<256).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    for name in shards where !present.contains(name) {
      try sandbox.makeDirectory("entries/\(name)")
    }
    for name in shards { try sandbox.setMode("entries/\(name)", 0o755) }
    // Foreign names in the journal do not hide its segments.
    for number in 0..<70 { try sandbox.write("journal/stray \(number)", []) }
    try sandbox.setMode("journal/00000001.log", 0o644)
    let expected = shards.map { "entries/\($0)" } + ["journal/00000001.log"]
    #expect(try sandbox.check().paths(.wrongMode) == expected)
    #expect(try sandbox.repair(.safe).report.findings[.wrongMode]?.repaired == 257)
    #expect(try sandbox.check().paths(.wrongMode) == [])
  }

  @Test func `a directory that cannot be listed is told`() throws {
    let sandbox = try CheckSandbox.withOneEntry()
    try sandbox.makeDirectory("entries/zz")
    try sandbox.makeDirectory("entries/zz/inner")
    for (name, path) in [
      (sandbox.root, ""), ("entries", "entries"), ("zz", "entries/zz"),
      ("inner", "entries/zz/inner"),
    ] {
      let files = FaultyFiles()
      files.faults.set { $0.kind == .list && $0.name == name ? .inputOutput : nil }
      #expect(try sandbox.check(fileSystem: files).paths(.unreadable) == [path])
    }
  }
}
