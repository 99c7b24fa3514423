import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloaderWrittenTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(100_000))
  private var now: Int64 { sandbox.clock.now() }

  /// Writes a file in another way than by a download, and notes it.
  ///
  /// - Parameter age: The seconds since the server confirmed the content.
  private func write(
    _ request: DownloadRequest, isUserKnown: Bool = true, age: Int64 = 0,
    source: DownloadedFile.Source = .store
  ) async throws -> DownloadedFile {
    let file = try Downloader.replacement(at: Array(request.file.utf8))
    try file.write([1, 2, 3])
    try file.close()
    try file.moveIntoPlace()
    let place = try DownloadPlace(request.file, RealFileSystem())
    defer { place.close() }
    let status = try #require(place.status(place.target))
    return try await sandbox.downloader(server).note(
      request, answeredBy: request.request.url, head: HTTPResponseHead(status: 200),
      source: source, isUserKnown: isUserKnown,
      written: WrittenFile(
        length: 3, modified: status.modified, began: now - 5, confirmed: now - age * 1_000_000_000))
  }

  private func isUnexpired(_ request: DownloadRequest) async throws -> Bool {
    guard case .unexpired = try await sandbox.downloader(server).look(for: request) else {
      return false
    }
    return true
  }

  private func asked(expiresAfter seconds: Int64? = nil) -> DownloadRequest {
    var request = sandbox.asked()
    request.expiry = seconds.map { DownloadExpiry(after: $0) }
    return request
  }

  @Test func `a file that was written counts as a download`() async throws {
    let file = try await write(asked(expiresAfter: 60))
    #expect(file.record.ended?.nanoseconds == now && file.record.started.nanoseconds == now - 5)
    #expect(file.record.length == 3 && file.receivedBytes == 0)
    #expect(try await sandbox.downloader(server).fileNow(asked()) != nil)
    #expect(try await write(asked(), source: .network).receivedBytes == 3)
  }

  @Test(arguments: [true, false])
  func `a file is used without asking only if it is known for whom it is`(isKnown: Bool)
    async throws
  {
    var request = asked(expiresAfter: 60)
    request.request.fields = [HTTPField("Authorization", "alice")]
    _ = try await write(request, isUserKnown: isKnown)
    #expect(try await isUnexpired(request) == isKnown)
    request.request.fields = []
    #expect(try await !isUnexpired(request))
  }

  @Test func `an expiry counts from when the server confirmed the content, at most from now`()
    async throws
  {
    _ = try await write(asked(expiresAfter: 60), age: 50)
    #expect(try await isUnexpired(asked()))
    sandbox.clock.advance(bySeconds: 10)
    #expect(try await !isUnexpired(asked()))
    // The clock was set back since.
    _ = try await write(asked(expiresAfter: 60), age: -50)
    #expect(try await isUnexpired(asked()))
    sandbox.clock.advance(bySeconds: 59)
    // The expiry of the call before is kept.
    _ = try await write(asked())
    #expect(try await isUnexpired(asked()))
  }

  @Test func `what a killed process was writing is removed`() async throws {
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    defer { place.close() }
    try Data([9]).write(to: URL(fileURLWithPath: sandbox.path(place.new.text)))
    _ = try await write(asked())
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a file is removed with its record, unless they are another's`() async throws {
    let downloader = sandbox.downloader(server)
    let file = try await write(asked())
    var older = file.record
    older.started = older.started.advanced(bySeconds: -1)
    await downloader.remove(
      DownloadedFile(
        path: file.path, record: older, source: .store, receivedBytes: 0, resumedBytes: 0))
    #expect(sandbox.names == [".json"])
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    await downloader.remove(file)
    #expect(sandbox.names == ["file"])
  }

  @Test func `an interrupted download of its URL is removed, and nothing created for that`()
    async throws
  {
    let disk = FaultyFiles()
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    server.fail(.init(cut: 70_000))
    _ = await sandbox.failure(downloader, sandbox.asked())
    disk.faults.set { _ in nil }
    await downloader.removeUnfinished(sandbox.asked(url: "/other"))
    #expect(!disk.faults.calls.contains { $0.isChange })
    #expect(sandbox.names == [".part", ".part.json", ".sums"])
    await downloader.removeUnfinished(sandbox.asked())
    #expect(sandbox.names.isEmpty)
  }
}
