import CacheSystem
import ClientTesting
import Foundation
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct PartFileTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)
  private let server = FileServer(content(1_000_000))
  @Test func `bytes that could not be synced are loaded again`() async throws {
    let disk = FaultyFiles()
    var options = DownloaderOptions(maximumRetries: 0)
    options.isDurable = true
    let downloader = Downloader(server, options, sandbox.clock, disk)
    disk.faults.set { $0.kind == .synchronize ? .inputOutput : nil }
    #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
    #expect(sandbox.bytes() == nil)
    disk.faults.set(nil)
    let file = try await downloader.download(sandbox.asked())
    #expect(file.receivedBytes == 1_000_000)
    #expect(sandbox.bytes() == big)
  }

  @Test func `a part that was closed is free, whoever still knows it`() throws {
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    let first = try #require(try PartFile.open(place))
    #expect(try PartFile.open(place) == nil)
    first.close()
    #expect(try PartFile.open(place) != nil)
    withExtendedLifetime(first) {}
  }

  @Test func `the end of one takes nothing from the next`() async throws {
    // The next one has what belongs to it already when the first one goes.
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    let first = try #require(try PartFile.open(place))
    try FileManager.default.moveItem(
      atPath: sandbox.hidden(".part"), toPath: sandbox.path("moved"))
    let next = try PartFile.open(place)
    #expect(next != nil)
    first.remove()
    #expect(sandbox.names == [".part", ".sums", "moved"])
  }

  @Test func `where new files belong to another user, that is an error`() throws {
    let disk = FaultyFiles()
    disk.faults.owner = 12_345
    let place = try DownloadPlace(sandbox.path(), disk)
    #expect(throws: SystemError.othersFile) { try PartFile.open(place) }
    #expect(sandbox.names.isEmpty)
  }

  @Test func `on a volume without permissions, nothing is resumed`() async throws {
    let disk = FaultyFiles()
    disk.faults.mode = 0o777
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    server.fail(.init(cut: 600_000))
    #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
    for _ in 0..<2 {
      let file = try await downloader.download(sandbox.asked())
      #expect(file.receivedBytes == 1_000_000 && file.resumedBytes == 0)
      #expect(sandbox.bytes() == big && sandbox.names == [".json", "file"])
    }
  }

  @Test(arguments: [".part", ".sums"])
  func `a second name of a hidden file keeps its bytes`(suffix: String) async throws {
    server.fail(.init(cut: 300_000))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    let copy = sandbox.path("backup")
    try FileManager.default.linkItem(atPath: sandbox.hidden(suffix), toPath: copy)
    let before = FileManager.default.contents(atPath: copy)
    _ = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(FileManager.default.contents(atPath: copy) == before)
    #expect(sandbox.bytes() == big)
  }

  @Test(arguments: [[".part", ".sums"], [".part.json"]])
  func `bytes of another answer have no sum`(suffixes: [String]) async throws {
    // As power loss may leave it: the record of one answer, bytes and sums of another.
    let other = content(1_000_000, seed: 2)
    for (name, bytes) in [("a", big), ("b", other)] {
      server.change(bytes, tag: "\"1\"")
      server.fail(.init(cut: 600_000))
      _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked(name))
    }
    func hidden(_ name: String, _ suffix: String) throws -> String {
      let part = try DownloadPlace(sandbox.path(name), RealFileSystem()).part
      return sandbox.path(String(decoding: part.bytes, as: UTF8.self).dropLast(5) + suffix)
    }
    for suffix in suffixes {
      try FileManager.default.removeItem(atPath: hidden("b", suffix))
      try FileManager.default.moveItem(atPath: hidden("a", suffix), toPath: hidden("b", suffix))
    }
    let file = try await sandbox.downloader(server).download(sandbox.asked("b"))
    #expect(sandbox.bytes("b") == other)
    #expect(file.resumedBytes == 0)
  }

  @Test func `a cancelled look at a part leaves it as it is`() async throws {
    server.fail(.init(cut: 600_000))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    let record = try #require(try place.record(.unfinished))
    let part = try #require(try PartFile.open(place))
    try part.recover(for: record, nil, unless: { true })
    #expect(part.length == 0 && sandbox.names == [".part", ".part.json", ".sums"])
    try part.recover(for: record, nil, unless: { false })
    #expect(part.length == 600_000)
  }

  @Test func `a part that somebody changed is believed up to the change`() async throws {
    let server = FileServer(big, faults: [.init(cut: 900_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    let part = try sandbox.hidden(".part")
    let handle = try #require(FileHandle(forUpdatingAtPath: part))
    try handle.seek(toOffset: 600_000)
    try handle.write(contentsOf: [big[600_000] ^ 1])
    try handle.close()
    let file = try await downloader.download(sandbox.asked())
    // Where blocks end depends on the time, too.
    #expect(file.resumedBytes > 0 && file.resumedBytes <= 600_000)
    #expect(sandbox.bytes() == big)
  }

  @Test(arguments: [".part", ".part.json", ".sums"])
  func `without one of its files it begins again`(suffix: String) async throws {
    let server = FileServer(big, faults: [.init(cut: 900_000)])
    let downloader = sandbox.downloader(server)
    _ = await sandbox.failure(downloader, sandbox.asked())
    try FileManager.default.removeItem(atPath: sandbox.hidden(suffix))
    let file = try await downloader.download(sandbox.asked())
    #expect(file.resumedBytes == 0)
    #expect(sandbox.bytes() == big)
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `bytes are written by the block`() throws {
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    defer { place.close() }
    let part = try #require(try PartFile.open(place))
    defer { part.close() }
    #expect(!part.gather(content(PartContent.blockBytes - 1)))
    #expect(part.gather([1]))
  }

  @Test func `a part that loses its name before it is locked is not used`() throws {
    let disk = FaultyFiles()
    let place = try DownloadPlace(sandbox.path(), disk)
    defer { place.close() }
    let (part, moved) = (sandbox.path(place.part.text), sandbox.path("moved"))
    disk.faults.set { call in
      if call.kind == .lock, !FileManager.default.fileExists(atPath: moved) {
        _ = try? FileManager.default.moveItem(atPath: part, toPath: moved)
        _ = FileManager.default.createFile(atPath: part, contents: nil)
      }
      return nil
    }
    let opened = try #require(try PartFile.open(place))
    defer { opened.close() }
    #expect(try opened.status() != nil)
    #expect(sandbox.names == [".part", ".sums", "moved"])
  }

  @Test func `sums that others may write to are removed, and are an error if they come again`()
    throws
  {
    let disk = FaultyFiles()
    let place = try DownloadPlace(sandbox.path(), disk)
    defer { place.close() }
    let sums = sandbox.path(place.sums.text)
    disk.faults.set { call in
      if call.kind == .open, call.name.hasSuffix(".sums") {
        _ = FileManager.default.createFile(atPath: sums, contents: Data([1]))
        _ = unsafe chmod(sums, 0o666)
      }
      return nil
    }
    #expect(throws: SystemError.othersFile) { try PartFile.open(place) }
  }
}
