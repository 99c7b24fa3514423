import CacheSystem
import ClientTesting
import Foundation
import HTTPSemantics
import HTTPTransports
import Testing

@testable import HTTPDownloads

/// Servers that lie.
@Suite(.timeLimit(.minutes(2)))
struct DownloadAttackTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  @Test func `a part that is longer than its range never gets beyond it`() async throws {
    let server = FileServer(
      big,
      faults: [
        .init(cut: 300_000),
        .init(fields: [
          HTTPField("Content-Range", "bytes 300000-399999/1000000"),
          HTTPField("Content-Length", ""),
        ]),
      ])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(
      await sandbox.failure(downloader, sandbox.asked())
        == .wrongLength(expected: 400_000, received: UInt64(300_000 + 2 * FileServer.pieceBytes)))
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == big)
  }

  @Test func `a redirect that leads elsewhere now gives no bytes to the same file`() async throws {
    func redirect(_ location: String) -> FileServer.Fault {
      .init(status: 302, fields: [HTTPField("Location", location)])
    }
    let server = FileServer(
      big,
      faults: [redirect("/a?x=1"), .init(cut: 300_000), redirect("/a?x=2"), .init(cut: 10_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(server.ranges == ["", "", "bytes=300000-", "bytes=300000-"])
    // Another file of the same length, with a tag that means something else there.
    let other = content(1_000_000, seed: 2)
    server.change(other, tag: "\"1\"")
    server.fail(redirect("/b"), .init(), redirect("/b"))
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == other)
    #expect(server.ranges.suffix(4) == ["bytes=310000-", "bytes=310000-", "", ""])
  }

  @Test func `a 304 of another file, to which a redirect leads now, confirms nothing`() async throws
  {
    func redirect(_ location: String) -> FileServer.Fault {
      .init(status: 302, fields: [HTTPField("Location", location)])
    }
    let server = FileServer(big, faults: [redirect("/v2"), .init()])
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked())
    // The older file has the same tag.
    let other = content(1_000_000, seed: 2)
    server.change(other, tag: "\"1\"")
    server.fail(redirect("/v1"), .init(status: 304))
    #expect(try await downloader.updateState(of: sandbox.asked()) == .unknown)
    server.fail(redirect("/v1"), .init(status: 304), redirect("/v1"), .init())
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == other)
  }

  @Test func `a mirror with the same tag and time goes on`() async throws {
    let time = HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:00:00 GMT")
    let server = FileServer(
      big,
      faults: [
        .init(fields: [time], cut: 300_000),
        .init(status: 302, fields: [HTTPField("Location", "http://mirror.example/b")]),
        .init(fields: [time]),
      ])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    let file = try await downloader.download(sandbox.asked())
    #expect(file.resumedBytes == 300_000 && file.receivedBytes == 700_000)
    #expect(sandbox.bytes() == big)
  }

  @Test(arguments: [false, true])
  func `tries end where nothing is won by them`(refusesRanges: Bool) async throws {
    // A server that always breaks off, and denies the range or has another file each time.
    let server = FileServer(big)
    for number in 0..<100 {
      server.fail(
        .init(
          fields: [HTTPField("ETag", refusesRanges ? "\"1\"" : "\"\(number)\"")],
          cut: 300_000 - number, ignoresRange: true))
      if refusesRanges { server.fail(.init(status: 416)) }
    }
    let cause = await sandbox.failure(
      sandbox.downloader(server, maximumRetries: 3), sandbox.asked())
    #expect(cause == .transport(TransportError(.truncatedBody, url: "http://example.com/big")))
    #expect(server.requests.count < 12)
  }
}
