import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(5))) struct SubstituteOptionTests {
  private func run() throws -> ToolRun {
    let run = ToolRun()
    try run.write(Array("<p>hello".utf8), to: run.path("page.html"))
    try run.write(
      Array("http://site.invalid/ page.html\n".utf8), to: run.path("table"))
    return run
  }

  @Test func `fetch answers from a table of substitutes`() throws {
    let run = try run()
    let table = run.path("table")
    let result = try run.run(
      "fetch", "--substitute", table, "http://site.invalid/", "-o", run.path("out"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.lines.first?.hasPrefix("local   200") == true)
    #expect(String(decoding: try run.read(run.path("out")), as: UTF8.self) == "<p>hello")
    let offline = try run.run(
      "fetch", "--offline", "--substitute", table, "http://site.invalid/", "http://site.invalid/b")
    #expect(offline.status == 1)
    #expect(offline.lines.count == 1)
    let refresh = try run.run("fetch", "--refresh", "--substitute", table, "http://site.invalid/")
    #expect(refresh.status == 2)
  }

  @Test func `without network and store a substitute is found`() throws {
    let run = try run()
    let result = try run.run(
      "fetch", "--offline", "--substitute", run.path("table"), "http://site.invalid/")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.lines.first?.hasPrefix("local   200") == true)
  }

  @Test func `a wrong table ends the command with file, line and remedy`() throws {
    let run = try run()
    try run.write(Array("\nhttp://site.invalid/ gone.html\n".utf8), to: run.path("bad"))
    for command in [["fetch", "http://site.invalid/"], ["serve", "--listen", "127.0.0.1:0"]] {
      let words = command + ["--substitute", run.path("bad")]
      let result = try run.run(bytes: words.map { Array($0.utf8) })
      #expect(result.status == 2)
      #expect(
        result.errors.contains("\(run.path("bad")):2: \(run.folder)/gone.html cannot be read"))
      #expect(result.errors.contains("put it there, or take the line out"))
    }
  }
}
