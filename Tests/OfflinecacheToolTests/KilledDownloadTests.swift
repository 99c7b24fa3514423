import Foundation
import NginxOrigin
import Testing
import ToolTesting

/// `offlinecache download` and a real server. Waits block, as those of the other tests of tools: one that
/// gives its thread away gets it back when they are done. By hand, with 1 GB and 50 kills: `Tools/bench-download`.
@Suite(
  .timeLimit(.minutes(5)),
  .enabled(if: NginxOrigin.isInstalled, "nginx or openssl is not installed"))
struct KilledDownloadTests {
  private static let length = 24_000_000

  /// Starts nginx with one file that is old enough for its date to be a validator.
  private func server(_ lines: String = "") async throws -> (NginxOrigin, [UInt8]) {
    let folder = TemporaryFolder()
    let site = folder.url.appendingPathComponent("site")
    try FileManager.default.createDirectory(at: site, withIntermediateDirectories: true)
    let file = site.appendingPathComponent("big")
    let body = (0..<Self.length).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 12) }
    try Data(body).write(to: file)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1.7e9)], ofItemAtPath: file.path)
    let nginx = try await NginxOrigin(
      """
      log_format sent '$body_bytes_sent $status';
      server { listen PORT0; root FOLDER/site; access_log FOLDER/sent.log sent; \(lines) }
      """, in: folder)
    return (nginx, body)
  }

  /// The bytes of bodies that the server has sent, and the statuses.
  private func sent(_ nginx: NginxOrigin) throws -> (bytes: Int, statuses: [String]) {
    let text = try String(
      contentsOf: nginx.folder.appendingPathComponent("sent.log"), encoding: .utf8)
    let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
    return (lines.reduce(0) { $0 + (Int($1[0]) ?? 0) }, lines.map { String($0[1]) })
  }

  private func start(_ tool: ToolRun, _ url: String, _ more: String...) throws -> RunningTool {
    let words = ["download", "-q", url, "--output-dir", tool.path("f")] + more
    return try tool.start(words.map { Array($0.utf8) })
  }

  /// What ends with a suffix in the folder of the downloads.
  private func hidden(_ tool: ToolRun, _ suffix: String) throws -> String? {
    try names(in: tool.path("f")).first { $0.hasSuffix(suffix) }
  }

  /// Makes a tool with a folder for the downloads.
  private func toolWithFolder() throws -> ToolRun {
    let tool = ToolRun()
    try FileManager.default.createDirectory(
      atPath: tool.path("f"), withIntermediateDirectories: true)
    return tool
  }

  /// How much of the file is there, in whole blocks.
  private func partLength(_ tool: ToolRun) throws -> Int {
    guard let part = try hidden(tool, ".part") else { return 0 }
    let facts = try? FileManager.default.attributesOfItem(atPath: tool.path("f/\(part)"))
    return facts?[.size] as? Int ?? 0
  }

  @Test func `killed again and again it finishes, with the right bytes`() async throws {
    let (nginx, body) = try await server("limit_rate 12m;")
    let tool = try toolWithFolder()
    let url = nginx.address("/big", scheme: "http")
    for bytes in [1, 500_000, 1_000_000, 100_000, 700_000] {
      let before = try partLength(tool)
      let running = try start(tool, url)
      // Something new has to be there, however slow the machine is.
      try running.child.wait { try partLength(tool) >= before + bytes }
      running.child.send(SIGKILL)
      _ = try running.child.wait()
    }
    let last = try tool.run("download", url, "--output-dir", tool.path("f"))
    #expect(last.status == 0, "\(last.errors)")
    #expect(try tool.read(tool.path("f/big")) == body)
    #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("f")).count == 2)
    // The last line of the log may come a moment after the answer.
    try await eventually { try sent(nginx).bytes >= Self.length }
    let all = try sent(nginx)
    #expect(all.statuses.contains("206"))
    // What a kill may cost: a block, and what is in the sockets' buffers.
    #expect(all.bytes < Self.length + 5 * 3_000_000)
  }

  @Test func `a file that changed on the server meanwhile comes whole`() async throws {
    let (nginx, _) = try await server("limit_rate 2m;")
    let tool = try toolWithFolder()
    let url = nginx.address("/big", scheme: "http")
    let running = try start(tool, url)
    try running.child.wait { try hidden(tool, ".part.json") != nil }
    running.child.send(SIGINT)
    #expect(try running.child.wait() == 130)
    let file = nginx.folder.appendingPathComponent("site/big")
    let new = Data(repeating: 7, count: 1_000_000)
    try new.write(to: file)
    let run = try tool.run("download", url, "--output-dir", tool.path("f"))
    #expect(run.status == 0, "\(run.errors)")
    #expect(try tool.read(tool.path("f/big")) == [UInt8](new))
  }

  @Test func `two processes that download the same file have it once`() async throws {
    let (nginx, body) = try await server("limit_rate 24m;")
    let tool = ToolRun()
    let url = nginx.address("/big", scheme: "http")
    let all = try (0..<3).map { _ in try start(tool, url, "--expires", "1000") }
    for running in all { #expect(try running.child.wait() == 0) }
    #expect(try tool.read(tool.path("f/big")) == body)
    try await eventually { try !sent(nginx).statuses.isEmpty }
    #expect(try sent(nginx).bytes == Self.length)
  }
}
