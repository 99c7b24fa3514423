import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct UpdateCheckTests {
  private let server = FileServer(content(1000))

  @Test func `a downloaded file is compared, and stays as it is`() async throws {
    let sandbox = DownloadSandbox()
    let downloader = sandbox.downloader(server)
    let asked = sandbox.asked()
    #expect(try await downloader.updateState(of: asked) == .missing)
    _ = try await downloader.download(asked)
    #expect(try await downloader.updateState(of: asked) == .current)
    server.change([1], tag: "\"2\"")
    #expect(try await downloader.updateState(of: asked) == .changed)
    server.fail(.init(error: .cannotConnect))
    await #expect(throws: DownloadError.self) { try await downloader.updateState(of: asked) }
    #expect(sandbox.bytes() == content(1000))
    #expect(server.requests.dropFirst().allSatisfy { $0.method == .head })
  }

  @Test func `a file that was changed here is changed, one that was removed is missing`()
    async throws
  {
    let sandbox = DownloadSandbox()
    let (downloader, asked) = (sandbox.downloader(server), sandbox.asked())
    _ = try await downloader.download(asked)
    try Data([1]).write(to: URL(filePath: sandbox.path()))
    #expect(try await downloader.updateState(of: asked) == .changed)
    try FileManager.default.removeItem(atPath: sandbox.path())
    #expect(try await downloader.updateState(of: asked) == .missing)
    #expect(server.requests.count == 1)
  }

  @Test func `dates are compared where there are no tags`() {
    func state(_ copy: HTTPFields, _ other: HTTPFields) -> UpdateState {
      UpdateState(comparing: copy, other)
    }
    let old = HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:00:00 GMT")
    let new = HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:00:01 GMT")
    #expect(state([old], [old]) == .current)
    #expect(state([old], [new]) == .changed)
    #expect(state([old], [HTTPField("ETag", "\"1\"")]) == .unknown)
    #expect(state([], []) == .unknown)
  }

  @Test(arguments: [
    (501, true), (405, true), (404, true), (401, false), (429, false), (500, false),
  ])
  func `a server that does not support HEAD is asked by GET`(status: Int, asks: Bool) async throws {
    let sandbox = DownloadSandbox()
    let (downloader, asked) = (sandbox.downloader(server), sandbox.asked())
    _ = try await downloader.download(asked)
    server.fail(.init(status: status))
    let state = try await downloader.updateState(of: asked)
    #expect(state == (asks ? .current : .refused(status: status)))
    #expect(server.requests.dropFirst().map(\.method) == (asks ? [.head, .get] : [.head]))
  }

  @Test(arguments: [(200, true), (404, false)])
  func `the whole is asked for, and its validators only of a copy of it`(
    status: Int, isConditional: Bool
  ) async throws {
    let copy = HTTPResponseHead(status: status, fields: [HTTPField("ETag", "\"1\"")])
    let asked = request("/big", [HTTPField("Range", "bytes=0-1")])
    let check = UpdateCheck(transport: server, options: TransportOptions())
    #expect(try await check.state(of: copy, from: asked.url.string, asked) == .current)
    #expect(server.ranges == [""])
    #expect(server.requests[0].fields.contains("If-None-Match") == isConditional)
  }

  @Test func `a tag alone says nothing of another URL`() throws {
    let head = HTTPResponseHead(status: 200, fields: [HTTPField("ETag", "\"1\"")])
    let answer = TransportResponse(
      head: head, url: try NormalizedURL("http://b.test/"),
      body: ScriptedBody(ScriptedTransport.Answer(), url: "http://b.test/"))
    #expect(!head.isMet(from: "http://a.test/", by: answer))
    #expect(head.isMet(from: "http://b.test/?1", by: answer))
  }

  @Test func `an error page is compared with its like`() async throws {
    let copy = HTTPResponseHead(status: 404, fields: [HTTPField("ETag", "\"1\"")])
    server.fail(.init(status: 404), .init(status: 404))
    let check = UpdateCheck(transport: server, options: TransportOptions())
    let asked = request("/big")
    #expect(try await check.state(of: copy, from: asked.url.string, asked) == .current)
    #expect(server.requests.map(\.method) == [.head, .get])
  }
}
