import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import MessageDigests
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloadReuseTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(100_000))

  private func download(
    expiry: DownloadExpiry? = nil, reuse: DownloadRequest.Reuse = .unexpired
  ) async throws -> DownloadedFile {
    var request = sandbox.asked()
    (request.expiry, request.reuse) = (expiry, reuse)
    return try await sandbox.downloader(server).download(request)
  }

  @Test func `until it expires nobody is asked, and then the server confirms it`() async throws {
    let hour = DownloadExpiry(after: 3600)
    _ = try await download(expiry: hour)
    sandbox.clock.advance(bySeconds: 3599)
    let good = try await download(expiry: hour)
    #expect(good.source == .file && server.requests.count == 1)
    sandbox.clock.advance(bySeconds: 1)
    let confirmed = try await download(expiry: hour)
    #expect(confirmed.source == .confirmed && server.requests.count == 2)
    #expect(server.requests[1].fields.first(named: "If-None-Match")?.text == "\"1\"")
    #expect(sandbox.bytes() == content(100_000))
    #expect(sandbox.names == [".json", "file"])
    sandbox.clock.advance(bySeconds: 3599)
    #expect(try await download().source == .file)
  }

  @Test func `a sliding time begins anew with each use`() async throws {
    let hour = DownloadExpiry(after: 3600, isSliding: true)
    _ = try await download(expiry: hour)
    for _ in 0..<5 {
      sandbox.clock.advance(bySeconds: 3000)
      #expect(try await download().source == .file)
    }
    sandbox.clock.advance(bySeconds: 3600)
    #expect(try await download().source == .confirmed)
    // The answer renews the time that an earlier call has set.
    sandbox.clock.advance(bySeconds: 3000)
    #expect(try await download().source == .file)
  }

  @Test func `a clock that was set back makes nothing good for longer`() async throws {
    _ = try await download(expiry: DownloadExpiry(after: 3600))
    sandbox.clock.advance(bySeconds: -86_400)
    #expect(try await download().source == .confirmed)
  }

  @Test func `of two expiries the shorter one counts`() async throws {
    _ = try await download(expiry: DownloadExpiry(after: 3600, isSliding: true))
    sandbox.clock.advance(bySeconds: 100)
    #expect(try await download(expiry: DownloadExpiry(after: 7200)).source == .file)
    sandbox.clock.advance(bySeconds: 50)
    // It was used 50 seconds ago.
    #expect(try await download(expiry: DownloadExpiry(after: 60)).source == .file)
    #expect(try await download(expiry: DownloadExpiry(after: 0)).source == .confirmed)
  }

  @Test func `without an expiry the server is asked each time`() async throws {
    _ = try await download()
    #expect(try await download().source == .confirmed)
    server.change([1, 2, 3], tag: "\"2\"")
    let changed = try await download()
    #expect(changed.source == .network && sandbox.bytes() == [1, 2, 3])
  }

  @Test func `who wants it never or confirmed is obeyed`() async throws {
    let hour = DownloadExpiry(after: 3600)
    _ = try await download(expiry: hour)
    #expect(try await download(expiry: hour, reuse: .confirmed).source == .confirmed)
    #expect(try await download(expiry: hour, reuse: .never).source == .network)
    #expect(server.requests.last?.fields.contains("If-None-Match") == false)
  }

  @Test func `a file that was changed or removed by others is fetched anew`() async throws {
    let hour = DownloadExpiry(after: 3600)
    _ = try await download(expiry: hour)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    #expect(try await download(expiry: hour).source == .network)
    try FileManager.default.removeItem(atPath: sandbox.path())
    #expect(try await download(expiry: hour).source == .network)
    #expect(server.requests.allSatisfy { !$0.fields.contains("If-None-Match") })
  }

  @Test func `a failure leaves the file of before, and what was known of it`() async throws {
    _ = try await download()
    server.change(content(200_000, seed: 2), tag: "\"2\"")
    server.fail(.init(cut: 65_536))
    await #expect(throws: DownloadError.self) { try await download() }
    #expect(sandbox.bytes() == content(100_000))
    #expect(sandbox.names == [".json", ".part", ".part.json", ".sums", "file"])
    let found = try await sandbox.downloader(server).downloads(in: sandbox.folder)
    #expect(found.map(\.isFinished).sorted { !$0 && $1 } == [false, true])
    _ = try await download()
    #expect(sandbox.bytes() == content(200_000, seed: 2))
    #expect(server.ranges.last == "bytes=65536-")
  }

  @Test func `an interrupted download keeps the expiry that it was begun with`() async throws {
    let minute = DownloadExpiry(after: 60, isSliding: true)
    for (second, seconds) in [(nil, 60), (DownloadExpiry(after: 600), 600)] {
      let sandbox = DownloadSandbox()
      let server = FileServer(content(100_000), faults: [.init(cut: 50_000)])
      var request = sandbox.asked()
      request.expiry = minute
      _ = await sandbox.failure(sandbox.downloader(server), request)
      sandbox.clock.advance(bySeconds: 1000)
      request.expiry = second
      let file = try await sandbox.downloader(server).download(request)
      #expect(file.resumedBytes == 50_000)
      #expect(file.record.expiry == second ?? minute)
      #expect(
        file.record.expires == file.record.ended?.advanced(bySeconds: Double(seconds)))
    }
  }

  @Test func `the last expiry that was given is the one that is kept`() async throws {
    let server = FileServer(
      content(300_000), faults: [.init(cut: 100_000), .init(cut: 100_000)])
    var request = sandbox.asked()
    for seconds in [3600, 60] {
      request.expiry = DownloadExpiry(after: Int64(seconds))
      _ = await sandbox.failure(sandbox.downloader(server), request)
    }
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(file.record.expiry == DownloadExpiry(after: 60))
  }

  @Test func `a finished file that changed on the server keeps its expiry`() async throws {
    _ = try await download(expiry: DownloadExpiry(after: 60))
    sandbox.clock.advance(bySeconds: 100)
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    let file = try await download()
    #expect(file.source == .network && file.record.expiry == DownloadExpiry(after: 60))
    #expect(try await download().source == .file)
  }

  @Test func `a failed try of another URL leaves what was begun`() async throws {
    server.fail(.init(cut: 70_000), .init(status: 404))
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    _ = await sandbox.failure(downloader, sandbox.asked(url: "/other"))
    // Also where that one's file is there, and is confirmed.
    let other = DownloadSandbox()
    server.fail(.init(), .init(cut: 70_000))
    _ = try await downloader.download(other.asked(url: "/other"))
    _ = await other.failure(downloader, other.asked())
    let confirmed = try await downloader.download(other.asked(url: "/other"))
    #expect(confirmed.source == .confirmed && other.names.contains(".part"))
    #expect(try await downloader.downloads(in: sandbox.folder).map(\.received) == [70_000])
    #expect(try await downloader.download(sandbox.asked()).resumedBytes == 70_000)
  }

  @Test func `what was begun stays known where the server has no validator any more`() async throws
  {
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 60)
    server.fail(.init(cut: 70_000))
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, request)
    server.fail(.init(fields: [HTTPField("ETag", "")], cut: 70_000, ignoresRange: true))
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(try await downloader.downloads(in: sandbox.folder).map(\.isFinished) == [false])
    let file = try await downloader.download(sandbox.asked())
    #expect(file.record.expiry == request.expiry && file.resumedBytes == 0)
    #expect(sandbox.bytes() == content(100_000))
  }

  @Test func `an expiry counts also where its call gets no answer`() async throws {
    server.fail(.init(cut: 70_000), .init(error: .cannotConnect))
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 60)
    _ = await sandbox.failure(downloader, request)
    #expect(try await downloader.download(sandbox.asked()).record.expiry == request.expiry)
  }

  @Test func `a copy with another digest leaves nothing`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    var second = sandbox.asked("second")
    second.digest = try StatedDigest(.sha256, hex: String(repeating: "0", count: 64))
    let copying = downloader.start(second)
    gate.open()
    _ = try await first.value()
    await #expect(throws: DownloadError.self) { try await copying.value() }
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a copy keeps the expiry of its own file`() async throws {
    let downloader = sandbox.downloader(server)
    var second = sandbox.asked("second")
    second.expiry = DownloadExpiry(after: 60)
    _ = try await downloader.download(second)
    sandbox.clock.advance(bySeconds: 100)
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    second.expiry = nil
    let gate = Gate()
    server.fail(.init(gate: gate))
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    let copying = downloader.start(second)
    gate.open()
    _ = try await first.value()
    let copy = try await copying.value()
    #expect(copy.source == .copy && copy.record.expiry == DownloadExpiry(after: 60))
  }

  @Test func `an older file is not copied: the server is asked`() async throws {
    let downloader = sandbox.downloader(server)
    var first = sandbox.asked()
    first.expiry = DownloadExpiry(after: 1000)
    _ = try await downloader.download(first)
    sandbox.clock.advance(bySeconds: 100)
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    var second = sandbox.asked("second")
    second.expiry = DownloadExpiry(after: 10)
    let source = Download(first)
    source.settle(.success(try await downloader.download(first)))
    let copy = try await DownloadRun(downloader: downloader, download: Download(second))
      .run(copying: source)
    #expect(copy.source == .network && sandbox.bytes("second") == content(90_000, seed: 2))
  }

  @Test func `a file that a kill left whole, and that has expired, is confirmed`() async throws {
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 10)
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    sandbox.clock.advance(bySeconds: 11)
    let again = try await downloader.download(asked)
    #expect(again.source == .confirmed && server.requests.count == 2)
    #expect(sandbox.bytes() == content(100_000) && sandbox.names == [".json", "file"])
  }

  @Test func `a file that a kill left whole is used no longer than this call permits`() async throws
  {
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 1000)
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    sandbox.clock.advance(bySeconds: 11)
    asked.expiry = DownloadExpiry(after: 10)
    #expect(try await downloader.download(asked).source == .confirmed)
  }

  @Test(arguments: [true, false])
  func `a file that a kill left whole is held against the caller's digest`(isRight: Bool)
    async throws
  {
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    asked.digest = try StatedDigest(
      .sha256, MessageDigest.of(isRight ? content(100_000) : [], .sha256))
    let cause = await sandbox.failure(downloader, asked)
    #expect((cause == nil) == isRight && server.requests.count == (isRight ? 1 : 2))
    #expect(sandbox.bytes() == (isRight ? content(100_000) : nil))
  }

  @Test func `a part that a kill left whole is as old as its answer`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 10_000_000)
    // The record of the part is written, that of the file is not.
    let fault = CountedFault(after: 1, lasts: true, SystemError(EIO)) { $0.kind == .rename }
    disk.faults.set { fault.check($0) }
    #expect(await sandbox.failure(downloader, asked) == .file(SystemError(EIO)))
    disk.faults.set(nil)
    sandbox.clock.advance(bySeconds: 1_000_000)
    let file = try await downloader.download(asked)
    #expect(file.receivedBytes == 0 && server.requests.count == 1)
    #expect(file.record.lastGiven == file.record.started)
    let known = try await downloader.downloads(in: sandbox.folder)
    #expect(known.map(\.record) == [file.record])
  }

  @Test func `one that was begun stays known although nothing of it is left`() async throws {
    let server = FileServer(content(100_000), faults: [.init(cut: 50_000)])
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 60)
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, request)
    server.change(content(100_000, seed: 2), tag: "\"2\"")
    server.fail(.init(cut: 0))
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(try await downloader.downloads(in: sandbox.folder).map(\.isFinished) == [false])
    let file = try await downloader.download(sandbox.asked())
    #expect(file.record.expiry == request.expiry && file.resumedBytes == 0)
  }

  @Test func `one that changed on the server keeps it, too`() async throws {
    let server = FileServer(content(100_000), faults: [.init(cut: 50_000)])
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 60)
    _ = await sandbox.failure(sandbox.downloader(server), request)
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(file.record.expiry == DownloadExpiry(after: 60))
  }

  @Test func `another query with the same tag is another file`() async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked(url: "/big?1"))
    server.change([1, 2, 3], tag: "\"1\"")
    let file = try await downloader.download(sandbox.asked(url: "/big?2"))
    #expect(file.source == .network && sandbox.bytes() == [1, 2, 3])
  }

  @Test func `the bytes of an interrupted download stay while the file of before is used`()
    async throws
  {
    _ = try await download(expiry: DownloadExpiry(after: 3600))
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    server.fail(.init(cut: 65_536))
    await #expect(throws: DownloadError.self) { try await download(reuse: .never) }
    #expect(try await download().source == .file)
    #expect(try await download(reuse: .never).resumedBytes == 65_536)
    #expect(sandbox.bytes() == content(90_000, seed: 2))
  }

  @Test func `a file of another URL has no expiry of the one before`() async throws {
    _ = try await download(expiry: DownloadExpiry(after: 3600))
    let other = try await sandbox.downloader(server).download(sandbox.asked(url: "/other"))
    #expect(other.record.expiry == nil)
  }
}
