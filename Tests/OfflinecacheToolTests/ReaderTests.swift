import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

/// The example of the README: `Tools/reader`.
@Suite(.timeLimit(.minutes(5)))
struct ReaderTests {
  /// Runs it with a home of its own. Not by Foundation's `Process`, which crashes now and then where a
  /// process has a thousand descriptors open (6.3.1), as other tests here do.
  private func run(_ tool: ToolRun, _ arguments: [String], home: String) throws -> ToolResult {
    let place = tool.path(home)
    let words =
      ["/usr/bin/env", "-i", "HOME=\(place)", "XDG_CACHE_HOME=\(place)/.cache"]
      + [try ToolRun.executable("reader")] + arguments
    return try tool.run(program: words.map { Array($0.utf8) })
  }

  @Test func `what was read once is read without the server`() throws {
    let tool = ToolRun()
    let origin = try LoopbackOrigin { request in
      let base = "http://\(request.value(of: "Host") ?? "")"
      switch request.target {
      case "/list":
        return OriginAnswer(#"["\#(base)/one.txt", "\#(base)/two.png"]"#)
      case let path where path.hasSuffix(".png"):
        return OriginAnswer(Array(repeating: 7, count: 99))
      default: return OriginAnswer("words")
      }
    }
    let list = origin.url("/list").absoluteString
    let first = try run(tool, [list], home: "home")
    #expect(first.status == 0)
    #expect(
      first.text.split(separator: "\n").map { $0.prefix { $0 != ";" } } == [
        "one.txt: 5 bytes", "two.png: 99 bytes",
      ])
    origin.stop()
    let again = try run(tool, [list], home: "home")
    #expect(again.status == 0)
    #expect(again.text.contains("one.txt: 5 bytes; it is stored"))
    let without = try run(tool, [], home: "home")
    #expect(without.status == 2 && without.text == "usage: reader URL\n")
    let other = try run(tool, [list], home: "elsewhere")
    #expect(other.status == 1 && other.text == "" && other.errors.contains(list))
  }

  @Test func `a list that is not there is named with the status`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let list = origin.url("/gone").absoluteString
    let result = try run(tool, [list], home: "home")
    #expect(result.status == 1 && (result.text + result.errors) == "\(list): status 404\n")
  }

  @Test func `the README shows it as it is`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let code = try String(
      contentsOf: root.appendingPathComponent("Tools/reader/main.swift"), encoding: .utf8)
    let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    #expect(readme.contains("```swift\n\(code)```"))
  }
}
