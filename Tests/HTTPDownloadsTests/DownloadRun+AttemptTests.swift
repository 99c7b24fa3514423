import CacheSystem
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

/// Servers that lie.
@Suite(.timeLimit(.minutes(2)))
struct DownloadRunAttemptTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  private func redirect(_ location: String) -> FileServer.Fault {
    .init(status: 302, fields: [HTTPField("Location", location)])
  }

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

  @Test(arguments: [true, false])
  func `a body whose end alone was lost is confirmed, and not sent again`(isSame: Bool) async throws
  {
    let server = FileServer(
      big, faults: [.init(fields: [HTTPField("Content-Length", "")], cut: big.count)])
    let downloader = sandbox.downloader(server)
    #expect(
      await sandbox.failure(downloader, sandbox.asked())
        == .transport(TransportError(.truncatedBody, url: "http://example.com/big")))
    // The server does not know `If-Range`.
    let other = content(big.count, seed: 2)
    if !isSame {
      server.change(other, tag: "\"2\"")
      server.fail(
        .init(status: 416, fields: [HTTPField("Content-Range", "bytes */\(big.count)")]))
    }
    let file = try await downloader.download(sandbox.asked())
    #expect(file.receivedBytes == (isSame ? 0 : UInt64(big.count)))
    #expect(sandbox.bytes() == (isSame ? big : other) && sandbox.names == [".json", "file"])
    #expect(server.ranges == ["", "bytes=1000000-", ""])
  }

  @Test func `without a connection it is not taken for the whole without a confirmation`()
    async throws
  {
    let server = FileServer(
      big,
      faults: [
        .init(fields: [HTTPField("Content-Length", "")], cut: big.count), .init(),
        .init(error: .cannotResolve),
      ])
    let downloader = sandbox.downloader(server)
    for _ in 0..<2 { _ = await sandbox.failure(downloader, sandbox.asked()) }
    #expect(sandbox.bytes() == nil && server.requests.count == 3)
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == big && server.sent == big.count)
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

  @Test(arguments: [0, 99, 100, 201, 204, 205, 206, 299, 304, 400, 404, 412, 416, 600, 999])
  func `an answer without the file leaves what there is, and nothing of its body`(status: Int)
    async throws
  {
    let server = FileServer(big, faults: [.init(status: status)])
    let downloader = sandbox.downloader(server, maximumRetries: 3)
    #expect(await sandbox.failure(downloader, sandbox.asked()) == .status(status))
    #expect(sandbox.names.isEmpty)
    _ = try await downloader.download(sandbox.asked())
    server.change(content(1000, seed: 2), tag: "\"2\"")
    server.fail(.init(status: status))
    // A 304 says that it is still the same file.
    let cause = await sandbox.failure(downloader, sandbox.asked())
    #expect(cause == (status == 304 ? nil : .status(status)))
    #expect(sandbox.bytes() == big && sandbox.names == [".json", "file"])
    #expect(server.requests.count == 3)
  }

  @Test(arguments: [0, 204, 206, 304, 400, 404, 412, 416, 999])
  func `an answer without the rest leaves the beginning, or has the whole asked for`(status: Int)
    async throws
  {
    let server = FileServer(big, faults: [.init(cut: 300_000), .init(status: status)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    let cause = await sandbox.failure(downloader, sandbox.asked())
    let asksForWhole = [206, 304, 412, 416].contains(status)
    #expect(cause == (asksForWhole ? nil : .status(status)))
    if !asksForWhole { _ = try await downloader.download(sandbox.asked()) }
    #expect(sandbox.bytes() == big && sandbox.names == [".json", "file"])
    #expect(server.ranges == ["", "bytes=300000-", asksForWhole ? "" : "bytes=300000-"])
  }

  @Test(
    arguments: [
      ("-1", nil), ("abc", nil), ("1000000, 1000000", nil), ("9223372036854775808", nil),
      ("0", .wrongLength(expected: 0, received: 65_536)),
      ("999999", .wrongLength(expected: 999_999, received: 1_000_000)),
      ("1000001", .transport(TransportError(.truncatedBody, url: "http://example.com/big"))),
      (
        "9223372036854775807",
        .transport(TransportError(.truncatedBody, url: "http://example.com/big"))
      ),
    ] as [(String, DownloadError.Cause?)])
  func `a length that is wrong is an error, and one that is none says nothing`(
    length: String, expected: DownloadError.Cause?
  ) async throws {
    let fault = FileServer.Fault(fields: [HTTPField("Content-Length", length)])
    let server = FileServer(big, faults: [fault])
    let downloader = sandbox.downloader(server)
    #expect(await sandbox.failure(downloader, sandbox.asked()) == expected)
    #expect(sandbox.bytes() == (expected == nil ? big : nil))
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == big)
  }

  @Test func `an answer that a proxy has changed is a file`() async throws {
    let server = FileServer([1], faults: [.init(status: 203)])
    _ = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(sandbox.bytes() == Array("sorry".utf8))
  }

  @Test(arguments: [
    ("application/gzip", "/a"), ("application/x-gzip; a=b", "/a"),
    ("Application/X-Compressed", "/a"),
    ("text/plain", "/a.tar.gz"), ("text/plain", "/a.TGZ?b=c"), ("text/plain", "/a.svgz"),
  ])
  func `a compressed file stays compressed whatever its coding says`(
    type: String, url: String
  ) async throws {
    let server = FileServer(
      content(1000),
      faults: [
        .init(fields: [HTTPField("Content-Type", type), HTTPField("Content-Encoding", "gzip")])
      ])
    _ = try await sandbox.downloader(server).download(sandbox.asked(url: url))
    #expect(sandbox.bytes() == content(1000))
  }

  @Test(arguments: [0, 1])
  func `what was decoded is not resumed`(retries: Int) async throws {
    // Blocks that are stored as they are (RFC 1951, section 3.2.4).
    let header: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]
    let coded = (0..<4).reduce(into: header) { coded, _ in
      coded += [0, 0xff, 0xff, 0, 0] + content(65_535)
    }
    let fields: HTTPFields = [
      HTTPField("Content-Encoding", "gzip"), HTTPField("ETag", ""),
      HTTPField("Last-Modified", "Thu, 14 Jan 2027 08:00:00 GMT"),
    ]
    let server = FileServer(coded, faults: [.init(fields: fields, cut: 200_000)])
    let downloader = sandbox.downloader(server, maximumRetries: retries)
    if retries == 0 { #expect(await sandbox.failure(downloader, sandbox.asked()) != nil) }
    _ = try await downloader.download(sandbox.asked())
    #expect(server.ranges == ["", ""] && sandbox.bytes() == coded)
  }

  @Test func `where no redirect is followed, it is a status`() async throws {
    let server = FileServer(big, faults: [redirect("/to")])
    var asked = sandbox.asked()
    asked.maximumRedirects = 0
    #expect(await sandbox.failure(sandbox.downloader(server), asked) == .status(302))
    #expect(server.requests.count == 1)
  }

  @Test func `a 304 that was not asked for confirms no whole part`() async throws {
    let server = FileServer(
      big,
      faults: [
        .init(cut: 1_000_000), redirect("/v1"), .init(status: 304), .init(status: 304),
      ])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(await sandbox.failure(downloader, sandbox.asked()) == .status(304))
    #expect(server.requests.count == 4)
  }
}
