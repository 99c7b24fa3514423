import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

/// The example of the README: `Tools/reader`.
@Suite(.timeLimit(.minutes(1)))
struct ReaderTests {
  private func run(_ arguments: [String], home: String) async throws -> (Int32, String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try ToolRun.executable("reader"))
    process.arguments = arguments
    process.environment = ["HOME": home, "XDG_CACHE_HOME": "\(home)/.cache"]
    let output = Foundation.Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
    let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    return (process.terminationStatus, text)
  }

  @Test func `what was read once is read without the server`() async throws {
    let tool = try ToolRun()
    let origin = try LoopbackOrigin { request in
      let base = "http://\(request.value(of: "Host") ?? "")"
      switch request.target {
      case "/list":
        let pages = ["one", "two"].map {
          #"{"title": "\#($0)", "text": "\#(base)/\#($0).txt", "image": "\#(base)/\#($0).png"}"#
        }
        return OriginAnswer("[\(pages.joined(separator: ","))]")
      case let path where path.hasSuffix(".png"):
        return OriginAnswer(Array(repeating: 7, count: 99))
      default: return OriginAnswer("words")
      }
    }
    let list = origin.url("/list").absoluteString
    let (status, text) = try await run([list], home: tool.path("home"))
    #expect(status == 0)
    #expect(
      text.split(separator: "\n").map { $0.prefix { $0 != ";" } } == [
        "one: 5 + 99 bytes", "two: 5 + 99 bytes",
      ])
    origin.stop()
    let (again, stored) = try await run([list], home: tool.path("home"))
    #expect(again == 0)
    #expect(stored.contains("one: 5 + 99 bytes; it is stored"))
    let (other, nothing) = try await run([list], home: tool.path("elsewhere"))
    #expect(other != 0 && nothing == "")
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
