import Testing

@testable import CommandLineTools

@Suite struct HelpPageTests {
  private func page(_ line: String, width: Int) throws -> String {
    guard case .help(let text) = try Sample.tool.parse(words(line), width: width) else { return "" }
    return text
  }

  @Test func `the page of a command is complete and aligned`() throws {
    let expected = """
      Fetches.

      Usage: tool fetch [options] <url>...

      Arguments:
        <url>              What to fetch.

      Options:
        -o, --output PATH  Write to a file.
        -j, --jobs N       Fetch so many at once (default: 8).
            --header TEXT  Send a field (may be repeated).
        -x, --offline      Use no network.
            --wait TIME    Wait so long (default: 30s).

      General options:
        -s, --store PATH   The store.
        -q, --quiet        Say less.
        -h, --help         Show this help.
            --version      Show the version.

      Exit status:
        0                  All went well.
        1                  A page is missing.

      Examples:
        tool fetch -j 4 http://a/
            Fetches one page.
      """
    #expect(try page("fetch --help", width: 80) == expected)
  }

  @Test func `options of the tool that a command has no use for are left out`() throws {
    let text = try page("copy --help", width: 80)
    #expect(text.contains("General options:\n  -h, --help"))
    #expect(!text.contains("--store"))
  }

  @Test func `the page of a tool lists its commands`() throws {
    let text = try page("--help", width: 80)
    #expect(text.contains("Usage: tool [options] <command>\n"))
    #expect(text.contains("\n  fetch             Fetches.\n"))
    #expect(text.contains("'tool <command> --help' tells more of a command."))
  }

  @Test(arguments: [0, 40, 50, 80, 100, 500])
  func `no line is wider than the terminal`(width: Int) throws {
    let limit = min(max(width, 40), 100)
    for line in try page("fetch --help", width: width).split(separator: "\n") {
      #expect(line.count <= limit)
    }
  }

  @Test func `text is wrapped at spaces and long words stand alone`() {
    #expect(wrap("a bb ccc", width: 4) == ["a bb", "ccc"])
    #expect(wrap("a verylongword b", width: 4) == ["a", "verylongword", "b"])
    #expect(wrap("", width: 4) == [])
  }
}
