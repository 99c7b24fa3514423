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
}
