import CacheFormat
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloaderTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  @Test func `a file appears with all that is known of it, and nothing else stays`() async throws {
    let server = FileServer(big)
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 60)
    let file = try await sandbox.downloader(server).download(request)
    #expect(sandbox.bytes() == big)
    #expect(sandbox.names == [".json", "file"])
    #expect(file.source == .network)
    #expect(file.receivedBytes == 1_000_000 && file.resumedBytes == 0)
    #expect(file.record.url == "http://example.com/big")
    #expect(file.record.head.fields.first(named: "ETag")?.text == "\"1\"")
    #expect(file.record.length == 1_000_000)
    #expect(file.record.ended == file.record.started)
    #expect(file.record.expires == file.record.ended?.advanced(bySeconds: 60))
    #expect(server.requests.count == 1)
    #expect(server.requests[0].fields.first(named: "Accept-Encoding")?.text == "identity")
  }

  @Test func `an empty file is a file`() async throws {
    let file = try await sandbox.downloader(FileServer([])).download(sandbox.asked())
    #expect(sandbox.bytes() == [])
    #expect(file.record.length == 0)
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a body without a length is taken to its end`() async throws {
    let server = FileServer(big, faults: [.init(fields: [HTTPField("Content-Length", "")])])
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(sandbox.bytes() == big && file.record.length == 1_000_000)
  }

  @Test func `an interrupted download is resumed, by the same call and by the next`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000), .init(cut: 300_000)])
    let downloader = sandbox.downloader(server)
    #expect(
      await sandbox.failure(downloader, sandbox.asked())
        == .transport(TransportError(.truncatedBody, url: "http://example.com/big")))
    #expect(sandbox.bytes() == nil)
    #expect(sandbox.names == [".part", ".part.json", ".sums"])
    let file = try await sandbox.downloader(server, maximumRetries: 1).download(sandbox.asked())
    #expect(server.ranges == ["", "bytes=300000-", "bytes=600000-"])
    #expect(server.requests[1].fields.first(named: "If-Range")?.text == "\"1\"")
    #expect(file.resumedBytes == 300_000 && file.receivedBytes == 700_000)
    #expect(sandbox.bytes() == big)
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a file that changed meanwhile starts over`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    let other = content(900_000, seed: 2)
    server.change(other, tag: "\"2\"")
    let file = try await downloader.download(sandbox.asked())
    #expect(server.ranges == ["", "bytes=300000-"])
    #expect(sandbox.bytes() == other)
    #expect(file.record.head.fields.first(named: "ETag")?.text == "\"2\"")
    #expect(file.resumedBytes == 0 && file.receivedBytes == 900_000)
  }

  @Test(arguments: [
    FileServer.Fault(ignoresRange: true),
    .init(fields: [HTTPField("Content-Range", "bytes 299999-999999/1000000")]),
    .init(fields: [HTTPField("Content-Range", "bytes 300000-999999/1000001")]),
    .init(fields: [HTTPField("Content-Range", "")]),
    .init(fields: [HTTPField("ETag", "\"2\"")]),
    .init(fields: [HTTPField("ETag", "")]),
    .init(fields: [HTTPField("Content-Encoding", "gzip")]),
    .init(fields: [HTTPField("Content-Type", "multipart/byteranges; boundary=x")]),
    .init(fields: [HTTPField("Content-Range", "bytes 300000-399999/1000000")]),
    .init(status: 416), .init(status: 304), .init(status: 412),
  ])
  func `an answer that does not fit starts over, never mixes`(fault: FileServer.Fault) async throws
  {
    let server = FileServer(big, faults: [.init(cut: 300_000), fault])
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 60)
    _ = await sandbox.failure(downloader, asked)
    let file = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == big)
    #expect(file.record.expiry == asked.expiry)
    #expect(server.ranges.prefix(2) == ["", "bytes=300000-"])
    #expect(server.requests.count == (fault.ignoresRange ? 2 : 3))
    #expect(server.ranges.last == (fault.ignoresRange ? "bytes=300000-" : ""))
  }

  @Test func `a part that ends before the file is asked on from there`() async throws {
    let server = FileServer(
      big,
      faults: [
        .init(cut: 300_000),
        .init(
          fields: [
            HTTPField("Content-Range", "bytes 300000-499999/1000000"),
            HTTPField("Content-Length", "200000"),
          ], shortens: 200_000),
      ])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    _ = try await downloader.download(sandbox.asked())
    #expect(server.ranges == ["", "bytes=300000-", "bytes=500000-"])
    #expect(sandbox.bytes() == big)
  }

  @Test(arguments: ["W/\"1\"", ""])
  func `without a strong validator it starts over`(tag: String) async throws {
    let weak = FileServer.Fault(fields: [HTTPField("ETag", tag)], cut: 300_000)
    let server = FileServer(big, faults: [weak])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(sandbox.names == [])
    _ = try await downloader.download(sandbox.asked())
    #expect(server.ranges == ["", ""])
    #expect(sandbox.bytes() == big)
  }

  @Test func `a body that is shorter than it says is no file`() async throws {
    let fault = FileServer.Fault(fields: [HTTPField("ETag", "")], shortens: 300_000)
    let server = FileServer(big, faults: [fault, fault])
    let cause = await sandbox.failure(
      sandbox.downloader(server, maximumRetries: 1), sandbox.asked())
    #expect(
      cause == .transport(TransportError(.truncatedBody, url: "http://example.com/big")))
    #expect(server.requests.count == 2)
    #expect(sandbox.names == [])
  }

  @Test func `a body that is longer than it says is no file`() async throws {
    let fault = FileServer.Fault(fields: [HTTPField("Content-Length", "999999")])
    let cause = await sandbox.failure(
      sandbox.downloader(FileServer(big, faults: [fault])), sandbox.asked())
    #expect(cause == .wrongLength(expected: 999_999, received: 1_000_000))
    #expect(sandbox.bytes() == nil)
  }

  @Test func `a part that was all there is confirmed, and not sent again`() async throws {
    // As if it was killed after the last byte, before the file took its name.
    let server = FileServer(big, faults: [.init(cut: 1_000_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    let file = try await downloader.download(sandbox.asked())
    #expect(server.requests.count == 2)
    #expect(file.resumedBytes == 1_000_000 && file.receivedBytes == 0)
    #expect(sandbox.bytes() == big)
  }

  @Test func `another URL for the same file begins again`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    _ = try await downloader.download(sandbox.asked(url: "/other"))
    #expect(server.ranges == ["", ""])
    #expect(sandbox.bytes() == big)
  }

  @Test func `who does not want to go on begins again`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    var request = sandbox.asked()
    request.resumes = false
    _ = try await downloader.download(request)
    #expect(server.ranges == ["", ""])
  }

  @Test func `a coding that nobody asked for is taken off`() async throws {
    // "hello" as gzip -n makes it.
    let coded: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
      0x36, 5, 0, 0, 0,
    ]
    let gzip = FileServer.Fault(fields: [HTTPField("Content-Encoding", "gzip")])
    let archive = FileServer.Fault(fields: [
      HTTPField("Content-Encoding", "x-gzip"), HTTPField("Content-Type", "application/x-gzip"),
    ])
    let downloader = sandbox.downloader(FileServer(coded, faults: [gzip, archive, gzip, gzip]))
    let file = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == Array("hello".utf8))
    #expect(!file.record.head.fields.contains("Content-Encoding"))
    // A strong tag would say that the coded bytes are these.
    #expect(file.record.head.fields.first(named: "ETag")?.text == "W/\"1\"")
    _ = try await downloader.download(sandbox.asked("archive"))
    #expect(sandbox.bytes("archive") == coded)
    // By its name, here or there.
    _ = try await downloader.download(sandbox.asked("a.TGZ"))
    #expect(sandbox.bytes("a.TGZ") == coded)
    _ = try await downloader.download(sandbox.asked("b", url: "/b.tar.gz?v=1"))
    #expect(sandbox.bytes("b") == coded)
  }

  @Test func `a coded body is not continued, whatever its time says`() async throws {
    let coded: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
      0x36, 5, 0, 0, 0,
    ]
    let fields: HTTPFields = [
      HTTPField("Content-Encoding", "gzip"),
      HTTPField("Last-Modified", "Fri, 15 Jan 2027 07:00:00 GMT"),
    ]
    let server = FileServer(
      coded, faults: [.init(fields: fields, cut: 20), .init(fields: fields)])
    _ = try await sandbox.downloader(server, maximumRetries: 1).download(sandbox.asked())
    #expect(sandbox.bytes() == Array("hello".utf8))
    #expect(server.ranges == ["", ""])
  }

  @Test func `a file that the caller names is replaced once the new one is complete`() async throws
  {
    let mine = Array("mine".utf8)
    try Data(mine).write(to: URL(fileURLWithPath: sandbox.path()))
    let server = FileServer(big, faults: [.init(status: 404), .init(cut: 600_000)])
    let downloader = sandbox.downloader(server)
    for _ in 0..<2 { #expect(await sandbox.failure(downloader, sandbox.asked()) != nil) }
    #expect(sandbox.bytes() == mine)
    let gate = Gate()
    server.fail(.init(gate: gate))
    let download = downloader.start(sandbox.asked())
    await eventually { download.progress.received > 600_000 }
    #expect(sandbox.bytes() == mine)
    gate.open()
    _ = try await download.value()
    #expect(sandbox.bytes() == big)
  }
}
