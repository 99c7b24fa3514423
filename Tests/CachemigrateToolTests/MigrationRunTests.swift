import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import Testing
import ToolTesting

@Suite struct MigrationRunTests {
  private func lookUp(_ tool: ToolRun, _ url: String) throws -> [UInt8]? {
    let store = try Store(at: tool.store, options: Options(isReadOnly: true))
    defer { store.close() }
    let request = HTTPRequest(url: try NormalizedURL(url))
    let now = Timestamp(nanoseconds: 1_790_000_000_000_000_000)
    guard
      case .serve(let serving) = ResponseCache(store: store)
        .decide(request, policy: .storedOnly, now: now),
      let slice = serving.slices.first, case .bytes(let bytes, _) = slice.body
    else { return nil }
    return bytes
  }

  @Test func `a cache moves, is found, and a second time nothing changes`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...20)
    let before = try tool.state(of: source)
    let result = try tool.migrate([source, tool.store])
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(result.text.contains("20 converted, 0 skipped, 0 of them for a fault\n"))
    #expect(
      try lookUp(tool, "https://EXAMPLE.org:443/7.png")?.starts(with: "000000007".utf8) == true)
    let contents = try tool.contents()
    let again = try tool.migrate(["--json", source, tool.store])
    #expect(again.status == 0)
    #expect(again.text.contains("\"converted\":0,"))
    #expect(again.text.contains("\"skipped\":{\"already_there\":20}"))
    #expect(try tool.contents() == contents)
    #expect(try tool.state(of: source) == before)
    // So few rows left no state.
    #expect(!exists(tool.stateHome))
  }

  @Test func `a dry run says what would be, and writes nothing`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...20)
    let result = try tool.migrate(["--dry-run", source, tool.store])
    #expect(result.status == 0)
    #expect(result.text.contains("20 would be converted, 0 skipped, 0 of them for a fault\n"))
    #expect(result.text.contains(" are needed on disk\n"))
    #expect(result.text.contains(" are free: enough\n"))
    // Three for each, the folders above them, and the store's own.
    #expect(!result.text.contains("(inodes)") || result.text.contains("at most 96 files and"))
    #expect(!exists(tool.store))
    let store = try Store(
      at: tool.store, options: Options(limits: Limits(bytes: 1 << 20, entries: 10)))
    store.close()
    let limited = try tool.migrate(["--dry-run", "--json", source, tool.store])
    #expect(limited.text.hasPrefix("{\"type\":\"plan\","))
    #expect(limited.text.contains("\"limit_bytes\":1048576,\"limit_entries\":10,"))
    #expect(limited.text.contains("\"needed_files\":"))
    #expect(try tool.contents() == [])
    #expect(!exists(tool.stateHome))
  }

  @Test func `URLs are mapped, by the first mapping that fits`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...12)
    let result = try tool.migrate([
      "--map-url", "https://example.org/1=http://localhost:8080/one",
      "--map-url", "https://example.org/=https://other.example/?a=b&p=", source, tool.store,
    ])
    #expect(result.status == 0)
    #expect(
      try lookUp(tool, "http://localhost:8080/one2.png")?.starts(with: "000000012".utf8) == true)
    #expect(
      try lookUp(tool, "https://other.example/?a=b&p=7.png")?.starts(with: "000000007".utf8) == true
    )
    #expect(try lookUp(tool, "https://example.org/7.png") == nil)
    for name in ["r.jsonl", "r.txt"] {
      let report = tool.path(name)
      _ = try tool.migrate([
        "--map-url", "https://example.org/1=http://localhost:8080/one", "--report", report, source,
        tool.store,
      ])
      let text = String(decoding: try tool.read(report), as: UTF8.self)
      #expect(
        text.contains(
          name == "r.txt"
            ? "https://example.org/12.png -> http://localhost:8080/one2.png"
            : "\"key\":\"https://example.org/12.png\","
              + "\"mapped_url\":\"http://localhost:8080/one2.png\","))
      #expect(!text.contains("2.png -> https") && !text.contains("http://localhost:8080/2"))
    }
  }

  @Test func `a mapping is split in front of its second URL, whatever follows`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...1)
    let map = "https://example.org/=https://new.example/?from=http://x/"
    #expect(try tool.migrate(["--map-url", map, source, tool.store]).status == 0)
    #expect(try lookUp(tool, "https://new.example/?from=http://x/1.png") != nil)
  }

  @Test func `a mapping that makes no URL is a fault`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...3)
    let result = try tool.migrate(
      ["--map-url", "https://example.org/2=http:// /", "--json", source, tool.store])
    #expect(result.status == 1)
    #expect(result.text.contains("\"converted\":2,"))
    #expect(result.text.contains("\"skipped\":{\"bad_mapped_url\":1},\"faults\":1,"))
  }

  @Test(arguments: [false, true])
  func `the report has a line for each row`(isJSON: Bool) throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...5)
    try tool.sql(source, "INSERT INTO manifest(key) VALUES('http://u:secret@h/x'), ('no url')")
    let report = tool.path(isJSON ? "r.jsonl" : "r.txt")
    #expect(try tool.migrate(["--report", report, source, tool.store]).status == 1)
    let lines = try tool.read(report).split(separator: 10).map {
      String(decoding: $0, as: UTF8.self)
    }
    #expect(lines.count == (isJSON ? 7 : 8))
    if isJSON {
      #expect(
        lines[2] == "{\"row\":3,\"key\":\"https://example.org/3.png\",\"result\":\"converted\","
          + "\"replaced\":false,\"bytes\":100}")
      #expect(
        lines[5]
          == "{\"row\":6,\"key\":\"http://h/x\",\"result\":\"skipped\",\"reason\":\"no_body\","
          + "\"fault\":true,\"detail\":\"\",\"bytes\":0}")
    } else {
      #expect(lines[0].split(separator: " ") == ["ROW", "RESULT", "REASON", "BYTES", "KEY"])
      #expect(
        lines[7].split(separator: " ").prefix(5) == ["7", "skipped", "not_a_url_key", "0", "no"])
    }
    #expect(!lines.joined().contains("secret"))
  }

  @Test func `URLs of one normal form: the newest counts, whichever comes first`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...1)
    // Row 2 is newer than row 1, row 3 older than row 2.
    try tool.sql(
      source,
      """
      INSERT INTO manifest VALUES('https://example.org:443/1.png', NULL, 3, x'010203', 1600000900,
        5, NULL), ('HTTPS://example.org/1.png', NULL, 2, x'0405', 1600000800, 6, NULL)
      """)
    let result = try tool.migrate(["--json", source, tool.store])
    #expect(result.status == 0)
    #expect(result.text.contains("\"converted\":2,\"replaced\":1,"))
    #expect(result.text.contains("\"skipped\":{\"duplicate_url_superseded\":1}"))
    #expect(try lookUp(tool, "https://example.org/1.png") == [1, 2, 3])
    let contents = try tool.contents()
    let again = try tool.migrate(["--json", source, tool.store])
    #expect(again.text.contains("\"converted\":0,"))
    #expect(try tool.contents() == contents)
  }

  @Test func `rows that a limit evicts again are reported`() throws {
    let tool = ToolRun()
    // The later rows were asked for later.
    let source = try tool.makeSource("m", rows: 1...30)
    try Store(at: tool.store, options: Options(limits: Limits(entries: 10))).close()
    let result = try tool.migrate(["--json", source, tool.store])
    #expect(result.status == 0)
    #expect(result.text.contains("\"converted\":30,\"replaced\":0,\"evicted\":20,"))
    let again = try tool.migrate([source, tool.store])
    #expect(!again.text.contains("evicted"))
    #expect(again.text.contains("\n0 converted, 30 skipped"))
    #expect(try tool.contents().count == 10)
  }

  @Test func `newer entries of the destination stay`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...3)
    let store = try Store(at: tool.store)
    try store.put([9], for: "GET https://example.org/2.png", metadata: EntryMetadata(status: 200))
    store.close()
    let result = try tool.migrate(["--json", source, tool.store])
    #expect(result.status == 0)
    #expect(result.text.contains("\"converted\":2,"))
    #expect(result.text.contains("\"skipped\":{\"newer_in_destination\":1}"))
    #expect(try lookUp(tool, "https://example.org/2.png") == [9])
  }

  @Test func `a body of 20 MB passes in pieces`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2, bytes: 20_000_000)
    let result = try tool.migrate([source, tool.store])
    #expect(result.status == 0)
    let store = try Store(at: tool.store, options: Options(isReadOnly: true))
    #expect(store.entries().map(\.length) == [20_000_000, 20_000_000])
    for info in store.entries() {
      guard case .hit(_, let reader) = store.read(info.key) else {
        Issue.record("no body")
        continue
      }
      try reader.verify()
    }
    store.close()
  }
}
