import CLibrary
import CacheFormat
import CacheStore
import CommandLineTools
import StoreMigration
import Testing
import ToolTesting

@testable import cachemigrate

@Suite(.timeLimit(.minutes(5))) struct ResumeTests {
  private static let rows = 2_500

  /// Starts a migration, and ends it by a signal when it has saved its state.
  private func interrupt(
    _ tool: ToolRun, _ words: [String], _ signal: Int32
  ) throws -> ToolResult {
    let running = try tool.start(program: tool.migrateWords(words))
    try running.child.wait {
      (try? names(in: "\(tool.stateHome)/offlinecache").contains { !$0.hasSuffix(".new") }) == true
    }
    running.child.send(signal)
    return try running.finish()
  }

  @Test func `a state that others may have written is not used`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    _ = try interrupt(tool, [source, tool.store], SIGKILL)
    let folder = "\(tool.stateHome)/offlinecache"
    for name in try names(in: folder) {
      // Safety: the path is passed as a zero-terminated copy that lives during the call.
      unsafe #expect(chmod("\(folder)/\(name)", 0o666) == 0)
    }
    let rest = try tool.migrate(["--resume", "--json", source, tool.store])
    #expect(rest.errors.contains("may have been written by others; remove it"))
    #expect(rest.status == 0 && rest.text.contains("\"earlier_rows\":0,"))
  }

  @Test(arguments: [SIGKILL, SIGINT, SIGTERM])
  func `it goes on after the last row that is safe, and nothing is lost or told twice`(
    signal: Int32
  ) throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    let report = tool.path("report.jsonl")
    let words = ["--report", report, source, tool.store]
    let killed = try interrupt(tool, words, signal)
    if signal == SIGKILL {
      #expect(killed.status == 1000 + SIGKILL)
    } else {
      #expect(killed.status == 32)
      #expect(killed.errors.contains("cancelled after "))
      #expect(killed.errors.contains("; --resume goes on there"))
    }
    let rest = try tool.migrate(["--resume", "--json"] + words)
    #expect(rest.status == 0)
    #expect(rest.errors == "")
    #expect(rest.text.contains("\"rows\":\(Self.rows),\"earlier_rows\":"))
    #expect(!rest.text.contains("\"earlier_rows\":0,"))
    let lines = try tool.read(report).split(separator: 10)
      .map { String(decoding: $0, as: UTF8.self) }
    #expect(lines.count == Self.rows)
    for (index, line) in lines.enumerated() {
      if !line.hasPrefix("{\"row\":\(index + 1),") { Issue.record("\(line)") }
    }
    #expect(try names(in: "\(tool.stateHome)/offlinecache") == [])
    let contents = try tool.contents()
    #expect(contents.count == Self.rows)

    let again = try tool.migrate(["--json", "--resume", source, tool.store])
    #expect(again.errors.contains("no migration was interrupted; it begins at the beginning\n"))
    #expect(again.text.contains("\"skipped\":{\"already_there\":\(Self.rows)}"))
    #expect(try tool.contents() == contents)
  }

  @Test func `a signal while the source is copied ends it, and no copy stays`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...1)
    // The journal keeps it from being read in place.
    try tool.write([], to: source + "-journal")
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(truncate(source, 4 << 30) == 0)
    func copies() throws -> Set<String> {
      try names(in: tool.folder).filter { $0.hasPrefix("offlinecache-migration-") }
    }
    let running = try tool.start(program: tool.migrateWords(["--json", source, tool.store]))
    try running.child.wait { try !copies().isEmpty }
    running.child.send(SIGINT)
    let result = try running.finish()
    #expect(result.status == 32)
    #expect(result.text.contains("\"result\":\"cancelled\",\"status\":32,\"source_rows\":null,"))
    #expect(try copies() == [] && !exists(tool.store))
  }

  @Test func `a report that lacks rows of earlier runs goes on, with a warning`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    let report = tool.path("report.jsonl")
    let words = ["--report", report, source, tool.store]
    _ = try interrupt(tool, words, SIGTERM)
    let folder = "\(tool.stateHome)/offlinecache"
    let path = "\(folder)/\(try #require(names(in: folder).first))"
    var state = try #require(ResumeState(decoding: tool.read(path)))
    // As if the last row had been moved without a report.
    state.reportedRows -= 1
    try tool.write(state.encoded, to: path)
    let rest = try tool.migrate(["--resume", "--json"] + words)
    #expect(rest.status == 0)
    #expect(rest.errors.contains("warning: the report lacks some of the rows"))
    #expect(try tool.read(report).starts(with: Array("{\"row\":1,".utf8)))
  }

  @Test func `a state is of the source that was opened, not of what it has become`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...5)
    guard
      case .run(let invocation) = try Declarations.tool.parse([
        Argument(source), Argument(tool.store),
      ])
    else { return #expect(Bool(false)) }
    let request = try MigrationRequest(invocation)
    func open() throws -> DatabaseFiles {
      let options = MigrationOptions(temporaryFolder: tool.folder)
      let migration = try Migration(from: source, to: tool.store, options: options)
      defer { migration.store?.close() }
      try tool.sql(source, "DELETE FROM manifest WHERE rowid = 5")
      return migration.source.files
    }
    let subjects = try (0..<2).map { _ in try ResumePoint(request, open(), .yycache).subject }
    #expect(subjects[0] != subjects[1])
  }

  @Test func `a file that is not the report of the earlier run is not kept`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    _ = try interrupt(
      tool, ["--report", tool.path("report.jsonl"), source, tool.store], SIGTERM)
    let other = tool.path("other.jsonl")
    try tool.write(Array(String(repeating: "notes\n", count: 99_999).utf8), to: other)
    let rest = try tool.migrate(["--resume", "--report", other, source, tool.store])
    #expect(rest.status == 0)
    #expect(rest.errors.contains("warning: the report begins here, without the rows that were"))
    let text = String(decoding: try tool.read(other), as: UTF8.self)
    #expect(!text.contains("notes") && text.contains("{\"row\":\(Self.rows),"))
  }

  @Test(arguments: [true, false])
  func `a report of the other format is not continued`(isJSON: Bool) throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    let words = ["--report", tool.path("report"), source, tool.store]
    _ = try interrupt(tool, (isJSON ? [] : ["--json"]) + words, SIGTERM)
    let rest = try tool.migrate((isJSON ? ["--json"] : []) + ["--resume"] + words)
    #expect(rest.status == 0)
    #expect(rest.errors.contains("warning: the report begins here, without the rows that were"))
    let text = String(decoding: try tool.read(tool.path("report")), as: UTF8.self)
    let lines = text.split(separator: "\n")
    #expect(lines.count < Self.rows && lines.allSatisfy { $0.hasPrefix("{") == isJSON })
  }

  @Test func `a state of another format is not used`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    try tool.sql(
      source,
      """
      CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
        ZMIMETYPE, ZURL, ZDATA);
      INSERT INTO ZCACHEDURLRESPONSE VALUES(1, 1, 1, NULL, NULL, 'https://h/', x'01');
      """)
    _ = try interrupt(tool, ["--from", "yycache", source, tool.store], SIGTERM)
    let result = try tool.migrate(["--json", "--resume", source, tool.store])
    #expect(result.errors.contains("options have changed since; the migration begins at the"))
    #expect(result.text.contains("\"earlier_rows\":0,\"converted\":1,"))
  }

  @Test func `a report that is gone is reported`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    let report = tool.path("report.jsonl")
    let words = ["--report", report, source, tool.store]
    _ = try interrupt(tool, words, SIGTERM)
    unsafe unlink(report)
    let rest = try tool.migrate(["--resume", "--json"] + words)
    #expect(rest.status == 0)
    #expect(rest.errors.contains("warning: the report lacks some of the rows"))
    #expect(try tool.contents().count == Self.rows)
  }

  @Test(arguments: ["source", "options", "damage"])
  func `a state of something else is not used`(change: String) throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...Self.rows)
    _ = try interrupt(tool, [source, tool.store], SIGTERM)
    var words = ["--json", "--resume", source, tool.store]
    switch change {
    case "source": try tool.sql(source, "DELETE FROM manifest WHERE rowid = 5")
    case "options": words.insert("--drop-expired", at: 0)
    default:
      let folder = "\(tool.stateHome)/offlinecache"
      for name in try names(in: folder) { try tool.write([1, 2], to: "\(folder)/\(name)") }
    }
    let result = try tool.migrate(words)
    #expect(result.status == 0)
    #expect(result.errors.hasPrefix("cachemigrate: \(source): warning: "))
    #expect(result.errors.hasSuffix("; the migration begins at the beginning\n"))
    #expect(result.text.contains("\"earlier_rows\":0,"))
    #expect(try tool.contents().count == Self.rows)
  }

  private static let state: ResumeState = {
    var counts = MigrationCounts()
    (counts.rows, counts.converted, counts.replaced) = (90, 80, 2)
    (counts.bytes, counts.neededBytes, counts.evicted) = (1234, 99_999, 3)
    counts.authorized = 7
    for reason in RowReason.all { counts.skipped[reason] = reason.name.count }
    return ResumeState(
      subject: "abc", row: -7, counts: counts, report: "def", reportLength: 55, reportedRows: 44)
  }()

  @Test func `a state is what it was when it is read again`() {
    #expect(ResumeState(decoding: Self.state.encoded) == Self.state)
    #expect(Self.state.encoded.count < ResumeState.maximumBytes)
    let bytes = Self.state.encoded
    for count in 0..<bytes.count {
      #expect(ResumeState(decoding: Array(bytes.prefix(count))) == nil, "\(count) bytes")
    }
    #expect(ResumeState(decoding: bytes + [10]) == nil)
  }

  @Test(arguments: [
    ("state 5", "state 4"), ("file def", "file "), ("row -7", "row x"), ("report 55", "report -55"),
    ("report 55 44", "report 55"), ("counts 90", "counts -90"),
    ("counts 90", "counts 9999999999999999999"),
    ("skipped expired 7", "skipped expired -7"), ("skipped expired 7", "skipped nothing 7"),
  ])
  func `a state with a wrong line is none`(right: String, wrong: String) throws {
    let text = String(decoding: Self.state.encoded, as: UTF8.self)
    let range = try #require(text.firstRange(of: right))
    let changed = text[..<range.lowerBound] + wrong + text[range.upperBound...]
    #expect(ResumeState(decoding: Array(changed.utf8)) == nil)
  }
}
