import Testing

@testable import CommandLineTools

/// One wrong command line and the whole message it must get.
private struct Mistake: Sendable, CustomTestStringConvertible {
  let line: [Argument]
  let message: String

  init(_ line: String, _ message: String) {
    self.init(words(line), message)
  }

  init(_ line: [Argument], _ message: String) {
    self.line = line
    self.message = message
  }

  var testDescription: String { line.map(\.description).joined(separator: " ") }
}

@Suite struct UsageErrorTests {
  @Test(
    arguments: [
      Mistake("", "tool: no command is given; see 'tool --help'"),
      Mistake("-q", "tool: no command is given; see 'tool --help'"),
      Mistake("fech u", "tool: there is no command 'fech'; did you mean 'fetch'?"),
      Mistake("hepl", "tool: there is no command 'hepl'; did you mean 'help'?"),
      Mistake("ls", "tool: there is no command 'ls'; see 'tool --help'"),
      Mistake("help cp", "tool: there is no command 'cp'; see 'tool --help'"),
      Mistake(
        "fetch --ofline u",
        "tool fetch: there is no option --ofline; did you mean --offline?"),
      Mistake(
        "fetch --xyzzy u",
        "tool fetch: there is no option --xyzzy; see 'tool fetch --help'"),
      Mistake(
        "fetch -quiet u",
        "tool fetch: there is no option -u; did you mean --quiet?"),
      Mistake(
        "fetch -z u",
        "tool fetch: there is no option -z; see 'tool fetch --help', or write -- before an argument "
          + "that begins with a dash"),
      Mistake(
        "fetch -5",
        "tool fetch: there is no option -5; write -- before an argument that begins with a dash"),
      Mistake(
        "--offline fetch u",
        "tool: --offline belongs to 'fetch'; write it after the command"),
      Mistake("-x fetch u", "tool: -x belongs to 'fetch'; write it after the command"),
      Mistake("FETCH u", "tool: there is no command 'FETCH'; did you mean 'fetch'?"),
      Mistake(
        "fetch u --output",
        "tool fetch: --output needs a value; write --output PATH"),
      Mistake(
        "fetch u -o", "tool fetch: -o needs a value; write -o PATH"),
      Mistake(
        "fetch u -o --offline",
        "tool fetch: -o needs a value, but '--offline' follows; "
          + "write -o PATH, or --output=--offline if that is the value"),
      Mistake(
        "fetch u --offline=yes",
        "tool fetch: --offline takes no value; write --offline alone"),
      Mistake(
        "fetch u --output=",
        "tool fetch: '' is no value for --output; give a path that is not empty"),
      Mistake(
        "fetch --output=~/a u",
        "tool fetch: '~/a' is no value for --output; "
          + "give a path with $HOME for ~, or with ./ before it"),
      Mistake(
        "fetch --output=~ u",
        "tool fetch: '~' is no value for --output; "
          + "give a path with $HOME for ~, or with ./ before it"),
      Mistake(
        "copy a b -o c", "tool copy: there is no option -o; did you mean --output-dir?"),
      Mistake(
        "fetch u -o -",
        "tool fetch: '-' is no value for --output; give a path; ./- names a file '-'"),
      Mistake(
        "fetch u -j 0",
        "tool fetch: '0' is no value for --jobs; give a whole number from 1 to 64"),
      Mistake(
        "list --sort sise",
        "tool list: 'sise' is no value for --sort; "
          + "give one of access, size, age (did you mean 'size'?)"),
      Mistake(
        "fetch",
        "tool fetch: <url> is missing; usage: tool fetch [options] <url>..."),
      Mistake(
        "list a b",
        "tool list: 'b' is one argument too many; usage: tool list [options] [<prefix>]"),
      Mistake(
        ["fetch", Argument(bytes: [0xFF])],
        "tool fetch: '\\xff' is no value for <url>; give text in UTF-8 "
          + "that is not empty"),
      Mistake(
        "list --sort http://alice:secret@example.org",
        "tool list: 'http://...@example.org' is no value for --sort; "
          + "give one of access, size, age"),
      Mistake(
        "list a alice:secret@example.org",
        "tool list: '...@example.org' is one argument too many; "
          + "usage: tool list [options] [<prefix>]"),
      Mistake(
        ["fetch", "--\u{1B}[2J"],
        "tool fetch: there is no option --\\x1b[2J; see 'tool fetch --help'"),
    ])
  private func `a mistake is named with its remedy`(mistake: Mistake) {
    let error = #expect(throws: UsageError.self) { try Sample.parse(mistake.line) }
    #expect(error?.description == mistake.message)
  }

  @Test func `a command can report a combination that makes no sense`() throws {
    let invocation = try #require(try Sample.run(words("fetch u")))
    let error = invocation.usageError("two outputs", remedy: "choose one")
    #expect(
      error
        == UsageError(
          command: "tool fetch", problem: "two outputs", remedy: "choose one"))
    #expect(error.description == "tool fetch: two outputs; choose one")
  }
}
