import ClientTesting
import Foundation
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct PieceSourceTests {
  private func sandbox(_ whole: [UInt8]) async throws -> ClientSandbox {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer([whole], fields: fresh()))
    _ = try await sandbox.client.data(for: request())
    return sandbox
  }

  /// Gives the path of the only stored body.
  private func file(_ sandbox: ClientSandbox) throws -> String {
    let entries = "\(sandbox.path)/entries"
    let names = try FileManager.default.subpathsOfDirectory(atPath: entries)
    return "\(entries)/\(try #require(names.first { $0.hasSuffix(".body") }))"
  }

  private func touch(_ path: String) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
  }

  private func rest(of body: ResponseBody) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await body.next() { bytes += piece }
    return bytes
  }

  @Test func `a limit that one of several sources exceeds loses no byte`() throws {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer())
    let file = FileSource(0..<2, sandbox.client.asyncStore, url: "u") { offset, count, _ in
      Array([2, 3][Int(offset)..<Int(offset) + count])
    }
    let joined = JoinedSource([BytesSource([1]), file])
    #expect(throws: ClientError(.tooLarge(limit: 1), url: "u")) {
      try joined.storedBytes(limit: 2)
    }
    #expect(try joined.storedBytes(limit: 3) == [1, 2, 3])
  }

  @Test(arguments: [300_000, 17_000_000])
  func `a hundred readers of one stored body each get all of it`(size: Int) async throws {
    let whole = pieces([size])[0]
    let sandbox = try await sandbox(whole)
    let count = size > 1_000_000 ? 4 : 100
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask { try await sandbox.client.data(for: request()).bytes == whole }
      }
      for try await isRight in group { #expect(isRight) }
    }
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `a file that is touched while it is read gives every reader its own place`()
    async throws
  {
    let whole = pieces([300_000])[0]
    let sandbox = try await sandbox(whole)
    let answers = try [0, 1].map { _ in
      try #require(sandbox.client.storedAnswer(to: request())).body
    }
    var bytes: [UInt8] = []
    for _ in 0..<3 { bytes += try await answers[0].next() ?? [] }
    try touch(file(sandbox))
    let first = bytes + (try await rest(of: answers[0]))
    let second = try await rest(of: answers[1])
    let areRight = [first == whole, second == whole]
    #expect(areRight == [true, true])
  }

  @Test func `a file that is changed while it is read is an error`() async throws {
    for size in [300_000, 17_000_000] {
      let sandbox = try await sandbox(pieces([size])[0])
      let answer = try #require(sandbox.client.storedAnswer(to: request())).body
      _ = try await answer.next()
      let handle = try #require(FileHandle(forUpdatingAtPath: try file(sandbox)))
      try handle.seek(toOffset: UInt64(size - 1))
      let last = try #require(try handle.read(upToCount: 1)?.first)
      try handle.seek(toOffset: UInt64(size - 1))
      try handle.write(contentsOf: Data([last ^ 1]))
      try handle.close()
      let error = await #expect(throws: ClientError.self) { try await rest(of: answer) }
      guard case .store(let cause) = error?.cause else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(cause.code == .damaged)
      let again = try await sandbox.client.data(for: request())
      #expect(again.response.source == .network)
    }
  }
}
