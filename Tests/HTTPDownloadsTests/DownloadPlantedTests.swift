import CacheSystem
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

/// Files that other users of the machine have put where a download goes.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "files of another user are needed"))
struct DownloadPlantedTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(600_000))

  /// Gives a file to another user.
  private func give(_ path: String) {
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(lchown(path, 65_534, 65_534) == 0)
  }

  @Test(arguments: [".json", "file"], [DownloadRequest.Reuse.unexpired, .confirmed])
  func `a file or a record of another user is not taken for a download`(
    planted: String, reuse: DownloadRequest.Reuse
  ) async throws {
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 1000)
    _ = try await sandbox.downloader(server).download(asked)
    give(planted == "file" ? sandbox.path() : try sandbox.hidden(planted))
    asked.reuse = reuse
    #expect(try await sandbox.downloader(server).downloads(in: sandbox.folder).isEmpty)
    #expect(try await sandbox.downloader(server).fileNow(asked) == nil)
    #expect(try await sandbox.downloader(server).updateState(of: asked) == .missing)
    var careful = asked
    careful.replacesOthers = false
    #expect(await sandbox.failure(sandbox.downloader(server), careful) == .fileExists)
    let file = try await sandbox.downloader(server).download(asked)
    #expect(file.source == .network && file.receivedBytes == 600_000)
    #expect(server.requests.last?.fields.contains("If-None-Match") == false)
    #expect(try await sandbox.downloader(server).downloads(in: sandbox.folder).count == 1)
  }

  @Test(arguments: [".part", ".sums", ".part.json"])
  func `a partial file of another user is not resumed`(planted: String) async throws {
    server.fail(.init(cut: 400_000))
    #expect(await sandbox.failure(sandbox.downloader(server), sandbox.asked()) != nil)
    give(try sandbox.hidden(planted))
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(file.resumedBytes == 0 && file.receivedBytes == 600_000)
    #expect(server.ranges == ["", ""])
    #expect(sandbox.bytes() == content(600_000) && sandbox.names == [".json", "file"])
  }

  @Test func `sums that others may write to are not believed`() async throws {
    server.fail(.init(cut: 400_000))
    #expect(await sandbox.failure(sandbox.downloader(server), sandbox.asked()) != nil)
    let sums = try sandbox.hidden(".sums")
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(chmod(sums, 0o666) == 0)
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(file.resumedBytes == 0 && sandbox.bytes() == content(600_000))
  }

  @Test func `a part that another user holds is not waited for`() async throws {
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    let part = try #require(try PartFile.open(place))
    give(try sandbox.hidden(".part"))
    #expect(
      await sandbox.failure(sandbox.downloader(server), sandbox.asked()) == .file(.othersFile))
    part.close()
    #expect(try await sandbox.downloader(server).download(sandbox.asked()).source == .network)
  }

  @Test func `hidden files of another user are neither listed nor removed with all others`()
    async throws
  {
    let downloader = sandbox.downloader(server)
    server.fail(.init(cut: 400_000))
    _ = await sandbox.failure(downloader, sandbox.asked())
    give(try sandbox.hidden(".part"))
    #expect(try await downloader.downloads(in: sandbox.folder).isEmpty)
    try FileManager.default.removeItem(atPath: sandbox.hidden(".part.json"))
    try await downloader.removeAll(in: sandbox.folder)
    #expect(sandbox.names == [".part", ".sums"])
  }
}
