import Testing

@testable import CommandLineTools

@Suite struct InvocationTests {
  @Test func `options that exclude each other are named in the error`() throws {
    let both = try #require(try Sample.run(words("fetch u -x -q")))
    let error = UsageError(
      command: "tool fetch", problem: "--offline and --quiet exclude each other",
      remedy: "choose one of them")
    #expect(throws: error) { try both.exclude(Sample.offline, Sample.quiet) }
    let one = try #require(try Sample.run(words("fetch u -x -x")))
    try one.exclude(Sample.offline, Sample.quiet)
    let value = try #require(try Sample.run(words("fetch u -x -o f")))
    #expect(throws: UsageError.self) { try value.exclude(Sample.offline, Sample.output) }
    // A default is not given.
    try value.exclude(Sample.offline, Sample.jobs)
  }
}
