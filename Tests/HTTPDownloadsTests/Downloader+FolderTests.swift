import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloaderFolderTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(100_000))
  @Test func `a folder tells what is there, and what is unfinished`() async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked("also"))
    _ = try await downloader.download(sandbox.asked("kept"))
    server.fail(.init(cut: 65_536))
    _ = await sandbox.failure(downloader, sandbox.asked("begun", url: "/b?c=d"))
    let found = try await downloader.downloads(in: sandbox.folder)
    #expect(found.map(\.path) == ["also", "begun", "kept"].map { sandbox.path($0) })
    #expect(found.map(\.isFinished) == [true, false, true])
    #expect(found.map(\.received) == [100_000, 65_536, 100_000])
    #expect(found[1].record.url == "http://example.com/b?c=d")
    #expect(try await downloader.downloads(in: sandbox.folder + "/") == found)
    try await downloader.forget(sandbox.path("begun"))
    try await downloader.forget(sandbox.path("kept"))
    #expect(sandbox.names == [".json", "also", "kept"])
    await #expect(throws: DownloadError.self) {
      try await downloader.downloads(in: sandbox.path("nothing"))
    }
  }

  @Test func `all downloads are removed, but no changed file and none that another process has`()
    async throws
  {
    let downloader = sandbox.downloader(server)
    for name in ["a", "b", "changed"] { _ = try await downloader.download(sandbox.asked(name)) }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path("changed")))
    server.fail(.init(cut: 65_536))
    _ = await sandbox.failure(downloader, sandbox.asked("begun", url: "/c"))
    let place = try DownloadPlace(sandbox.path("a"), RealFileSystem())
    defer { place.close() }
    let part = try #require(try PartFile.open(place))
    let error = await #expect(throws: DownloadError.self) {
      try await downloader.removeAll(in: sandbox.folder)
    }
    #expect(error?.cause == .file(.wouldBlock))
    #expect(sandbox.names.filter { !$0.hasPrefix(".") } == ["a", "changed"])
    part.close()
    try await downloader.removeAll(in: sandbox.folder)
    #expect(sandbox.names == ["changed"])
  }

  @Test func `a file is removed also if the record is that of the next one, without its name yet`()
    async throws
  {
    let downloader = sandbox.downloader(server)
    func noteNext() async throws -> DownloadedFile {
      let old = try await downloader.download(sandbox.asked())
      return try await downloader.note(
        sandbox.asked(), answeredBy: request("/big").url, head: old.record.head, source: .store,
        isUserKnown: true, written: WrittenFile(length: 3, modified: 7, began: 0, confirmed: 0))
    }
    _ = try await noteNext()
    try await downloader.removeAll(in: sandbox.folder)
    #expect(sandbox.names == [])
    await downloader.remove(try await noteNext())
    #expect(sandbox.names == ["file"])
  }

  @Test func `a record that cannot be read now costs no bytes, and is told`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    // As while the screen is locked.
    let lock: Faults.Rule = {
      $0.kind == .open && $0.name.hasSuffix(".part.json") ? SystemError(EPERM) : nil
    }
    let gate = Gate()
    server.fail(.init(cut: 65_536, gate: gate))
    let download = downloader.start(sandbox.asked())
    await eventually { download.progress.received > 0 }
    disk.faults.set(lock)
    gate.open()
    await #expect(throws: DownloadError.self) { try await download.value() }
    disk.faults.set(nil)
    #expect(try await downloader.downloads(in: sandbox.folder).map(\.received) == [65_536])
    disk.faults.set(lock)
    let error = await #expect(throws: DownloadError.self) {
      try await downloader.removeAll(in: sandbox.folder)
    }
    #expect(error?.cause == .file(SystemError(EPERM)))
    #expect(sandbox.names == [".part.json"])
  }

  @Test func `hidden files without a record are removed, too, unless they are in use`()
    async throws
  {
    for (name, isUsed) in [("left", false), ("used", true)] {
      let place = try DownloadPlace(sandbox.path(name), RealFileSystem())
      defer { place.close() }
      for hidden in [place.part, place.sums, place.new] {
        try Data("secret".utf8).write(to: URL(fileURLWithPath: sandbox.path(hidden.text)))
      }
      let part = isUsed ? try PartFile.open(place) : nil
      try await sandbox.downloader(server).removeAll(in: sandbox.folder)
      #expect(sandbox.names == (isUsed ? [".part", ".sums"] : []))
      part?.close()
    }
  }

  @Test func `of the records that killed processes were writing, one at most is left`() async throws
  {
    let downloader = sandbox.downloader(server)
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    let left = sandbox.path(place.recordName(.finished).text + ".new")
    place.close()
    for isForgotten in [false, true] {
      try Data("{".utf8).write(to: URL(fileURLWithPath: left))
      if isForgotten {
        try await downloader.forget(sandbox.path())
      } else {
        _ = try await downloader.download(sandbox.asked())
      }
      #expect(!sandbox.names.contains(".json.new"))
    }
  }

  @Test func `records of files that are gone are removed`() async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked())
    try FileManager.default.removeItem(atPath: sandbox.path())
    try Data("garbage".utf8).write(
      to: URL(fileURLWithPath: sandbox.path(".offlinecache-0123.json")))
    #expect(try await downloader.downloads(in: sandbox.folder) == [])
    #expect(sandbox.names.count == 1)
  }

  @Test(arguments: [".part.json", ".json"])
  func `a record is removed only while nobody can begin a download`(record: String) async throws {
    server.fail(.init(cut: record == ".json" ? nil : 65_536))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    try FileManager.default.removeItem(
      atPath: record == ".json" ? sandbox.path() : sandbox.hidden(".part"))
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    defer { place.close() }
    let removals = Lock<[Bool]>([])
    let disk = FaultyFiles()
    disk.faults.set { call in
      if call.kind == .removeFile, call.name.hasSuffix(record) {
        let part = try? PartFile.open(place)
        removals.withLock { $0.append(part == nil) }
        part?.close()
      }
      return nil
    }
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    #expect(try await downloader.downloads(in: sandbox.folder) == [])
    #expect(removals.withLock { !$0.isEmpty && $0.allSatisfy { $0 } })
    #expect(sandbox.names.isEmpty)
  }

  @Test(arguments: ["../x", "/x", "a/x", "..", ""])
  func `no record leads out of its folder`(file: String) async throws {
    // The folder above has a download with just the names that the record leads to.
    server.fail(.init(cut: 65_536), .init())
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked("x"))
    let names = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder)
    let inner = sandbox.path("inner")
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    let place = try DownloadPlace(sandbox.path("x"), RealFileSystem())
    var record = try #require(try place.record(.unfinished))
    record.file = ByteString(file)
    for name in names {
      try Data(record.encoded()).write(to: URL(fileURLWithPath: "\(inner)/\(name)"))
    }
    let downloader = sandbox.downloader(server)
    #expect(try await downloader.downloads(in: inner) == [])
    try await downloader.removeAll(in: inner)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: sandbox.folder).sorted()
        == (names + ["inner"]).sorted())
  }

  @Test func `a record whose file comes back while it is removed stays`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    _ = try await downloader.download(sandbox.asked())
    let (path, away) = (sandbox.path(), sandbox.path("away"))
    try FileManager.default.moveItem(atPath: path, toPath: away)
    disk.faults.set { call in
      if call.kind == .lock { _ = try? FileManager.default.moveItem(atPath: away, toPath: path) }
      return nil
    }
    #expect(try await downloader.downloads(in: sandbox.folder).isEmpty)
    #expect(try await downloader.downloads(in: sandbox.folder).map(\.isFinished) == [true])
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a record counts under its own name only`() async throws {
    let downloader = sandbox.downloader(server)
    server.fail(.init(cut: 65_536))
    _ = await sandbox.failure(downloader, sandbox.asked())
    let other = sandbox.path(".offlinecache-\(String(repeating: "0", count: 32)).part.json")
    try FileManager.default.copyItem(atPath: sandbox.hidden(".part.json"), toPath: other)
    #expect(try await downloader.downloads(in: sandbox.folder).count == 1)
  }

  @Test func `the record of a download that was begun meanwhile stays`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    _ = try await downloader.download(sandbox.asked())
    try FileManager.default.removeItem(atPath: sandbox.path())
    let place = try DownloadPlace(sandbox.path(), RealFileSystem())
    defer { place.close() }
    var next = try #require(try place.record(.finished))
    next.started = next.started.advanced(bySeconds: 1)
    let record = next
    disk.faults.set { call in
      if call.kind == .lock { _ = try? place.save(record, .finished) }
      return nil
    }
    #expect(try await downloader.downloads(in: sandbox.folder) == [])
    #expect(try place.record(.finished) == next)
  }
}
