import CacheFormat
import ClientTesting
import Foundation
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloadRunFinishTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(1000))

  @Test(arguments: [true, false])
  func `bytes and name are synced where that is wanted`(isDurable: Bool) async throws {
    let disk = FaultyFiles()
    let options = DownloaderOptions(isDurable: isDurable)
    let downloader = Downloader(server, options, sandbox.clock, disk)
    for isLeftWhole in [false, true] {
      if isLeftWhole { try sandbox.undoRename(of: "file") }
      disk.faults.set { _ in nil }
      var asked = sandbox.asked()
      asked.expiry = DownloadExpiry(after: 60)
      _ = try await downloader.download(asked)
      let synced = disk.faults.calls.filter { $0.kind == .synchronize }.map(\.name)
      #expect(synced.map { $0.hasSuffix(".part") } == (isDurable ? [true, false] : []))
    }
    #expect(server.requests.count == 1)
  }

  @Test func `who does not go on gets no whole file of an earlier call`() async throws {
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 60)
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    asked.resumes = false
    #expect(try await downloader.download(asked).receivedBytes == 1000)
  }

  @Test func `a file that the server confirms is as if it was given now`() async throws {
    let downloader = sandbox.downloader(server)
    server.fail(.init(fields: [HTTPField("Age", "9")]))
    _ = try await downloader.download(sandbox.asked())
    sandbox.clock.advance(bySeconds: 100)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 60)
    let file = try await downloader.download(asked)
    #expect(file.source == .confirmed && !file.record.head.fields.contains("Age"))
    #expect(file.record.lastGiven.nanoseconds == sandbox.clock.now())
    #expect(try await downloader.download(asked).source == .file)
  }

  @Test func `a file that is replaced while the server confirms it is asked for anew`() async throws
  {
    let other = DownloadSandbox()
    _ = try await other.downloader(
      FileServer([7], faults: [.init(fields: [HTTPField("ETag", "\"2\"")])])
    )
    .download(other.asked())
    let swap = try moving(other)
    let scripted = ScriptedTransport { request in
      let tag = request.fields.first(named: "If-None-Match")?.text
      if tag == "\"1\"" { swap() }
      return .success(
        .init(
          tag == nil ? "old" : "", status: tag == nil ? 200 : 304,
          fields: [HTTPField("ETag", tag ?? "\"1\"")]))
    }
    let downloader = Downloader(transport: scripted, clock: sandbox.clock)
    _ = try await downloader.download(sandbox.asked())
    let file = try await downloader.download(sandbox.asked())
    #expect(scripted.requests.count == 3 && sandbox.bytes() == [7])
    #expect(file.record.head.fields.first(named: "ETag")?.text == "\"2\"")
  }

  @Test func `a file that another process has finished meanwhile is used, and no part left`()
    async throws
  {
    let (other, disk) = (DownloadSandbox(), FaultyFiles())
    var asked = other.asked()
    asked.expiry = DownloadExpiry(after: 60)
    _ = try await other.downloader(server).download(asked)
    let finish = try moving(other)
    disk.faults.set { call in
      if call.kind == .lock { finish() }
      return nil
    }
    asked.file = sandbox.path()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    #expect(try await downloader.download(asked).source == .file)
    #expect(sandbox.names == [".json", "file"] && server.requests.count == 1)
  }

  @Test func `a copy has the expiry of its own caller`() async throws {
    let downloader = sandbox.downloader(server)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    var asked = sandbox.asked("copy")
    asked.expiry = DownloadExpiry(after: 60)
    let copying = DownloadRun(downloader: downloader, download: Download(asked))
    let copy = try await copying.run(copying: source)
    #expect(copy.source == .copy && copy.record.expiry == asked.expiry)
  }

  /// Returns a closure that moves the file of another folder here, with its record.
  private func moving(_ other: DownloadSandbox) throws -> @Sendable () -> Void {
    let record = try String(other.hidden(".json").dropFirst(other.folder.count + 1))
    let moves = ["file", record].map { (other.path($0), sandbox.path($0)) }
    return {
      for (from, to) in moves where FileManager.default.fileExists(atPath: from) {
        _ = try? FileManager.default.removeItem(atPath: to)
        _ = try? FileManager.default.moveItem(atPath: from, toPath: to)
      }
    }
  }
}
