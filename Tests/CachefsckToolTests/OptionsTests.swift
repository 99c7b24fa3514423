import Testing
import ToolTesting

@Suite struct OptionsTests {
  @Test(
    arguments: [
      [], [""], ["--quick", "--deep", "."], ["--dry-run", "."], ["--repair", "."],
      ["--repair", "some", "."], ["--repair", "safe", "--resume", "."],
      ["--jobs", "0", "."], ["--jobs", "many", "."], ["--progress", "--no-progress", "."],
      ["--no-such-option", "."], ["--json=yes", "."],
    ])
  func `a wrong command line ends with 16`(words: [String]) throws {
    let tool = ToolRun()
    let result = try tool.run(program: tool.checkWords(words.map { Array($0.utf8) }))
    #expect(result.status == 16)
    #expect(result.output == [])
    #expect(result.errors.hasPrefix("cachefsck: "))
    #expect(result.errors.contains("; "))
    #expect(!exists(tool.stateHome))
  }

  @Test func `help and version go to standard output`() throws {
    let tool = ToolRun()
    let help = try tool.check(["--help"])
    #expect(help.status == 0)
    #expect(help.errors == "")
    for option in [
      "--repair safe|all", "--dry-run", "--quick", "--deep", "--jobs N", "--json", "--progress",
      "--no-progress", "--resume",
    ] {
      #expect(help.text.contains(" \(option) "))
    }
    for status in ["0", "1", "4", "8", "16", "32"] {
      #expect(help.lines.contains { $0.hasPrefix("  \(status) ") })
    }
    #expect(try tool.check(["--version"]).text == "cachefsck 0.1.0\n")
  }
}
