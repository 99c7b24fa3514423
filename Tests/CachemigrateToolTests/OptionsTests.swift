import Testing
import ToolTesting

@Suite struct OptionsTests {
  @Test(
    arguments: [
      [], ["a"], ["a", "b", "c"], ["", "b"], ["--keep-expired", "--drop-expired", "a", "b"],
      ["--dry-run", "--resume", "a", "b"], ["--from", "sqlite", "a", "b"],
      ["--map-url", "http://a/", "a", "b"], ["--map-url", "=http://a/", "a", "b"],
      ["--map-url", "http://a/=ftp://b/", "a", "b"], ["--no-such-option", "a", "b"],
      ["--report", "-", "a", "b"],
    ])
  func `a wrong command line ends with 16`(words: [String]) throws {
    let tool = ToolRun()
    let result = try tool.migrate(words)
    #expect(result.status == 16)
    #expect(result.output == [])
    #expect(result.errors.hasPrefix("cachemigrate: "))
    #expect(result.errors.contains("; "))
  }

  @Test(arguments: [
    ("\u{1} b", "rename a file; go into the folder and name it '.'"),
    ("a \u{1}", "go into the folder and name it '.'"),
    ("--report \u{1} a b", "choose another one"),
  ])
  func `a path that is not UTF-8 is refused with a remedy for it`(line: String, remedy: String)
    throws
  {
    let tool = ToolRun()
    let words = line.split(separator: " ").map { word in word.utf8.map { $0 == 1 ? 0xFF : $0 } }
    let result = try tool.run(program: try tool.migrateWords([]) + words)
    #expect(result.status == 16)
    #expect(result.errors == "cachemigrate: the path \\xff is not UTF-8; \(remedy)\n")
  }

  @Test func `the argument that is missing is named`() throws {
    let tool = ToolRun()
    #expect(try tool.migrate([]).errors.hasPrefix("cachemigrate: <source> is missing; "))
    #expect(try tool.migrate(["a"]).errors.hasPrefix("cachemigrate: <destination> is missing; "))
  }

  @Test func `help and version go to standard output`() throws {
    let tool = ToolRun()
    let help = try tool.migrate(["--help"])
    #expect(help.status == 0)
    #expect(help.errors == "")
    for option in [
      "--from auto|offlinecache|coredata|cfnetwork|yycache", "--dry-run", "--json", "--report FILE",
      "--resume", "--keep-expired", "--drop-expired", "--map-url OLD=NEW",
    ] {
      #expect(help.text.contains(" \(option)"), "\(option)")
    }
    for status in ["0", "1", "8", "16", "32"] {
      #expect(help.lines.contains { $0.hasPrefix("  \(status) ") })
    }
    #expect(try tool.migrate(["--version"]).text == "cachemigrate 0.1.0\n")
  }
}
