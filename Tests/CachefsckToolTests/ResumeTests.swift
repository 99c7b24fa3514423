import CLibrary
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(5))) struct ResumeTests {
  /// Interrupts a check in the middle: nobody reads its findings, so it has to wait.
  private func interrupt(_ tool: ToolRun, _ words: [String], _ signal: Int32) throws -> (
    Int32, [String]
  ) {
    let pipe = try Pipe()
    defer { close(pipe.reader) }
    let words = (words + ["--json", "--jobs", "1", tool.store]).map { Array($0.utf8) }
    let running = try tool.start(
      program: tool.checkWords(words), input: 0, output: pipe.writer)
    close(pipe.writer)
    try running.child.wait { try pipe.waitingBytes >= 32_768 }
    running.child.send(signal)
    let text = String(decoding: try readAll(pipe.reader), as: UTF8.self)
    let result = try running.finish()
    #expect(result.errors.contains("cachefsck: \(tool.store): cancelled after "))
    #expect(result.errors.contains(" of 256 shards, "))
    return (result.status, text.split(separator: "\n").map(String.init))
  }

  /// A store with so many findings that their lines do not fit into a pipe.
  private func makeStore() throws -> (ToolRun, count: Int) {
    let tool = ToolRun()
    try tool.fill(1500)
    try tool.shell("chmod 644 \"$0\"/entries/*/*/*.json; touch \"$0\"/stray")
    return (tool, 1501)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a check that was interrupted goes on where it was`(signal: Int32) throws {
    let (tool, count) = try makeStore()
    let (status, lines) = try interrupt(tool, [], signal)
    #expect(status == 36)
    let summary = try #require(lines.last)
    #expect(summary.contains("\"result\":\"cancelled\",\"status\":36,"))
    #expect(summary.contains("\"code\":\"cancelled\""))
    #expect(lines.count < count)

    let other = try tool.check(["--deep", "--resume", "--json", tool.store])
    #expect(other.errors.contains("no deep check was interrupted; it begins at the beginning\n"))
    #expect(other.text.contains("\"found\":\(count),"))
    #expect(other.text.contains("\"resumed_shards\":0,"))

    let rest = try tool.check(["--resume", "--json", tool.store])
    #expect(rest.status == 4)
    #expect(rest.errors == "")
    #expect(rest.lines.count < count)
    #expect(rest.text.contains("\"found\":\(count),"))
    #expect(!rest.text.contains("\"resumed_shards\":0,"))
    #expect(try names(in: "\(tool.stateHome)/offlinecache") == [])

    let again = try tool.check(["--resume", "--json", tool.store])
    #expect(again.errors.contains("no quick check was interrupted"))
    #expect(again.text.contains("\"found\":\(count),"))
  }

  @Test(arguments: [["--repair", "safe"], ["--repair", "all", "--dry-run"]])
  func `a repair or its dry run that was interrupted has no state`(words: [String]) throws {
    let (tool, count) = try makeStore()
    let (status, lines) = try interrupt(tool, words + ["--quick"], SIGTERM)
    #expect(status & 32 != 0)
    #expect(lines.count < count)
    #expect(!exists(tool.stateHome))
  }

  // The kernel stamps files by a clock that may lag some milliseconds behind.
  @Test(arguments: [
    "sleep 0.1; touch \"$0\"/journal", "for f in \"$0\"/../state/*/*; do echo > \"$f\"; done",
  ])
  func `a state that cannot be trusted is not used`(change: String) throws {
    let (tool, count) = try makeStore()
    _ = try interrupt(tool, [], SIGTERM)
    try tool.shell(change)
    let result = try tool.check(["--resume", "--json", tool.store])
    #expect(result.status == 4)
    #expect(result.errors.hasPrefix("cachefsck: \(tool.store): warning: \(tool.stateHome)/"))
    #expect(result.errors.hasSuffix("; the check begins at the beginning\n"))
    #expect(result.text.contains("\"found\":\(count),"))
    #expect(result.lines.count == count + 1)
  }

  @Test func `without a folder for the state a check is done all the same`() throws {
    let (tool, count) = try makeStore()
    try tool.write([], to: tool.stateHome)
    let (status, _) = try interrupt(tool, [], SIGTERM)
    #expect(status == 36)
    let result = try tool.check(["--resume", "--json", tool.store])
    #expect(result.status == 4)
    #expect(result.errors.contains("warning: "))
    #expect(result.text.contains("\"found\":\(count),"))
  }

  @Test func `a check that cannot end is ended by the second signal`() throws {
    let (tool, _) = try makeStore()
    let pipe = try Pipe()
    defer {
      close(pipe.reader)
      close(pipe.writer)
    }
    let words = ["--json", tool.store].map { Array($0.utf8) }
    let running = try tool.start(program: tool.checkWords(words), input: 0, output: pipe.writer)
    try running.child.wait { pipe.isFull }
    // Nobody reads on. Two signals of one number could become one.
    running.child.send(SIGINT)
    running.child.send(SIGTERM)
    let result = try running.finish()
    #expect(result.status == 32, "\(result.errors)")
  }

  @Test func `an output nobody reads is an error without a message`() throws {
    let tool = ToolRun()
    try tool.fill(1)
    let pipe = try Pipe()
    close(pipe.reader)
    let words = ["--json", tool.store].map { Array($0.utf8) }
    let running = try tool.start(program: tool.checkWords(words), input: 0, output: pipe.writer)
    close(pipe.writer)
    let result = try running.finish()
    #expect(result.status == 8)
    #expect(result.errors == "")
  }
}
