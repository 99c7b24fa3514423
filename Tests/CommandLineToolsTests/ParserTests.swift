import Testing

@testable import CommandLineTools

@Suite struct ParserTests {
  @Test(
    arguments: [
      "fetch --output f u", "fetch --output=f u", "fetch -o f u", "fetch -of u", "fetch -o=f u",
      "fetch u -o f", "fetch -xo f u", "fetch -xof u",
      "--store s fetch u --output f",
    ])
  func `an option with a value may be written in every usual way`(line: String) throws {
    let invocation = try #require(try Sample.run(words(line)))
    #expect(invocation.path == ["tool", "fetch"])
    #expect(invocation[Sample.output] == "f")
    #expect(invocation[Sample.urls] == ["u"])
  }

  @Test(arguments: ["-s p list a", "list -s p a", "list a --store=p", "--store p list a"])
  func `a global option may stand before or after the command`(line: String) throws {
    let invocation = try #require(try Sample.run(words(line)))
    #expect(invocation[Sample.store] == "p")
    #expect(invocation[Sample.prefix] == ["a"])
  }

  @Test func `a default stands until a value is given, once`() throws {
    let plain = try #require(try Sample.run(words("fetch u")))
    #expect(plain.value(of: Sample.jobs) == 8)
    #expect(plain[Sample.output] == nil)
    let given = try #require(try Sample.run(words("fetch u -j 3")))
    #expect(given.value(of: Sample.jobs) == 3)
    let error = #expect(throws: UsageError.self) {
      try Sample.run(words("fetch u -j 3 --jobs 5"))
    }
    #expect(error?.problem == "--jobs is given twice")
  }

  @Test func `a repeated option keeps every value in order`() throws {
    let invocation = try #require(
      try Sample.run(["fetch", "--header", "A: 1", "u", "--header=B: 2", "--header", "C"]))
    #expect(invocation.all(Sample.header) == ["A: 1", "B: 2", "C"])
  }

  @Test func `flags count how often they were given`() throws {
    let invocation = try #require(try Sample.run(words("-qq fetch u -qx --quiet")))
    #expect(invocation.count(of: Sample.quiet) == 4)
    #expect(invocation[Sample.offline])
    let without = try #require(try Sample.run(words("fetch u")))
    #expect(!without[Sample.offline])
  }

  @Test func `after two dashes nothing is an option`() throws {
    let invocation = try #require(try Sample.run(words("fetch -x -- -o --help -- -x")))
    #expect(invocation[Sample.urls] == ["-o", "--help", "--", "-x"])
    #expect(invocation[Sample.output] == nil)
  }

  @Test func `a single dash is an argument and a negative number is a value`() throws {
    let invocation = try #require(try Sample.run(words("copy - -s -1 -")))
    #expect(invocation[Sample.source] == ["-"])
    #expect(invocation.value(of: Sample.target) == "-")
    #expect(invocation[Sample.store] == "-1")
  }

  @Test func `bytes that are not text pass through unchanged`() throws {
    let name = Argument(bytes: [0x66, 0xFF, 0x3D, 0x80])
    let long = Argument(bytes: Array("--store=".utf8) + name.bytes)
    let bundled = Argument(bytes: Array("-qs".utf8) + name.bytes)
    for option in [long, bundled] {
      let invocation = try #require(try Sample.run([option, "list", name]))
      #expect(invocation[Sample.store] == name)
      #expect(invocation[Sample.prefix] == [name])
    }
  }

  @Test(
    arguments: [
      ("copy t", [], "t"), ("copy a t", ["a"], "t"), ("copy a b c t", ["a", "b", "c"], "t"),
    ]
      as [(String, [Argument], Argument)])
  func `parameters of fixed length are served first`(
    line: String, source: [Argument], target: Argument
  ) throws {
    let invocation = try #require(try Sample.run(words(line)))
    #expect(invocation[Sample.source] == source)
    #expect(invocation.value(of: Sample.target) == target)
  }

  @Test(
    arguments: [
      "--help", "-h", "help", "fetch --help", "fetch -xh", "help fetch",
      "fetch u --help --nonsense",
    ])
  func `help is given wherever it is asked for`(line: String) throws {
    guard case .help(let text) = try Sample.parse(words(line)) else {
      Issue.record("no help for '\(line)'")
      return
    }
    #expect(text.contains("Usage: tool"))
    #expect(text.contains("--offline") == line.contains("fetch"))
  }

  @Test func `the version names the tool`() throws {
    guard case .version(let text) = try Sample.parse(["--version"]) else {
      Issue.record("no version")
      return
    }
    #expect(text == "tool 1.2.3")
  }
}
