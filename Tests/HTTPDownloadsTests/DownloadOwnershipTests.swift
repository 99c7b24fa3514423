import CacheFormat
import ClientTesting
import Foundation
import Testing

@testable import HTTPDownloads

/// Files of one's own and of others at the place of a download.
@Suite(.timeLimit(.minutes(2)))
struct DownloadOwnershipTests {
  private let sandbox = DownloadSandbox()
  private let server = FileServer(content(100_000))

  @Test func `a file of somebody else is replaced only where that is allowed`() async throws {
    let downloader = sandbox.downloader(server)
    var careful = sandbox.asked()
    (careful.replacesOthers, careful.reuse) = (false, .confirmed)
    // Of nobody, changed since, and of another URL.
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    #expect(await sandbox.failure(downloader, careful) == .fileExists)
    #expect(sandbox.bytes() == Array("mine".utf8) && sandbox.names == ["file"])
    _ = try await downloader.download(sandbox.asked())
    #expect(try await downloader.download(careful).source == .confirmed)
    server.change(content(50_000, seed: 2), tag: "\"2\"")
    #expect(try await downloader.download(careful).source == .network)
    var other = sandbox.asked(url: "/other")
    other.replacesOthers = false
    #expect(await sandbox.failure(downloader, other) == .fileExists)
    try Data("edited".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    #expect(await sandbox.failure(downloader, careful) == .fileExists)
    #expect(sandbox.bytes() == Array("edited".utf8))
  }

  @Test func `a file that loss of power left short is fetched anew`() async throws {
    let downloader = sandbox.downloader(server)
    var careful = sandbox.asked()
    careful.replacesOthers = false
    _ = try await downloader.download(careful)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: sandbox.path()))
    try keepingTime(sandbox.path()) { try file.truncate(atOffset: 10) }
    // Who lists the folder does not take its record away.
    #expect(try await downloader.downloads(in: sandbox.folder) == [])
    #expect(try await downloader.download(careful).source == .network)
    #expect(sandbox.bytes() == content(100_000))
  }

  /// Changes a file without a change of its time.
  private func keepingTime(_ path: String, _ change: () throws -> Void) throws {
    var before = stat()
    unsafe stat(path, &before)
    try change()
    let times = [before.st_atim, before.st_mtim]
    unsafe utimensat(AT_FDCWD, path, times, 0)
  }

  @Test func `a kill before the new file takes its name makes the old one nobody else's`()
    async throws
  {
    let downloader = sandbox.downloader(server)
    var careful = sandbox.asked()
    (careful.replacesOthers, careful.reuse) = (false, .confirmed)
    _ = try await downloader.download(careful)
    let old = sandbox.path("old")
    try FileManager.default.copyItem(atPath: sandbox.path(), toPath: old)
    var times = stat()
    unsafe stat(sandbox.path(), &times)
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    _ = try await downloader.download(careful)
    // As the kill leaves it: the record of the new file, and the old file.
    try FileManager.default.removeItem(atPath: sandbox.path())
    try FileManager.default.moveItem(atPath: old, toPath: sandbox.path())
    let before = [times.st_atim, times.st_mtim]
    unsafe utimensat(AT_FDCWD, sandbox.path(), before, 0)
    #expect(try await downloader.downloads(in: sandbox.folder) == [])
    server.fail(.init(error: .cannotConnect))
    #expect(await sandbox.failure(downloader, careful) != .fileExists)
    #expect(try await downloader.download(careful).source == .network)
    #expect(sandbox.bytes() == content(90_000, seed: 2))
  }

  @Test func `a file that appears meanwhile stays, and what has come is kept`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    var careful = sandbox.asked()
    careful.replacesOthers = false
    let downloader = sandbox.downloader(server)
    let download = downloader.start(careful)
    await eventually { download.progress.received > 0 }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    gate.open()
    let error = await #expect(throws: DownloadError.self) { try await download.value() }
    #expect(error?.cause == .fileExists)
    #expect(sandbox.bytes() == Array("mine".utf8))
    try FileManager.default.removeItem(atPath: sandbox.path())
    #expect(try await downloader.download(careful).resumedBytes == 100_000)
    #expect(server.requests.count == 2)
  }

  @Test func `who may replace a file and who may not do not share a download`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    var careful = sandbox.asked()
    careful.replacesOthers = false
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    let second = downloader.start(careful)
    #expect(second !== first)
    second.cancel()
    gate.open()
    _ = try await first.value()
  }

  @Test func `what was begun to replace a file goes on by that`() async throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    server.fail(.init(cut: 70_000))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    var careful = sandbox.asked()
    careful.replacesOthers = false
    #expect(try await sandbox.downloader(server).download(careful).resumedBytes == 70_000)
    // Its permission went with it.
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    #expect(await sandbox.failure(sandbox.downloader(server), careful) == .fileExists)
  }

  @Test func `a permission to replace is for the file that was there`() async throws {
    server.fail(.init(cut: 70_000))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    var careful = sandbox.asked()
    careful.replacesOthers = false
    #expect(await sandbox.failure(sandbox.downloader(server), careful) == .fileExists)
    #expect(sandbox.bytes() == Array("mine".utf8))
    try FileManager.default.removeItem(atPath: sandbox.path())
    #expect(try await sandbox.downloader(server).download(careful).resumedBytes == 70_000)
  }

  @Test func `a file that a kill left whole under its hidden name takes its own`() async throws {
    let downloader = sandbox.downloader(server)
    let first = try await downloader.download(sandbox.asked())
    let part = try sandbox.undoRename(of: "file")
    let found = try await downloader.downloads(in: sandbox.folder)
    #expect(found.map(\.isFinished) == [false] && found.first?.record == first.record)
    var careful = sandbox.asked()
    careful.replacesOthers = false
    #expect(try await downloader.download(careful).source == .confirmed)
    #expect(server.requests.count == 2)
    #expect(sandbox.bytes() == content(100_000) && sandbox.names == [".json", "file"])
    // Whoever wants the present file gets no older one.
    try FileManager.default.moveItem(atPath: sandbox.path(), toPath: part)
    server.change(content(100_000, seed: 2), tag: "\"2\"")
    careful.reuse = .confirmed
    #expect(try await downloader.download(careful).source == .network)
    #expect(sandbox.bytes() == content(100_000, seed: 2))
  }

  /// Leaves a whole part of an earlier call, which a file in its place has kept from its name.
  private func leaveWholePart(_ downloader: Downloader) async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    var careful = sandbox.asked()
    careful.replacesOthers = false
    let download = downloader.start(careful)
    await eventually { download.progress.received > 0 }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    gate.open()
    _ = await #expect(throws: DownloadError.self) { try await download.value() }
    try FileManager.default.removeItem(atPath: sandbox.path())
  }

  @Test(arguments: [true, false], [DownloadRequest.Reuse.unexpired, .confirmed])
  func `a whole part is not taken for what the server has now`(
    hasChanged: Bool, reuse: DownloadRequest.Reuse
  ) async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    let now = hasChanged ? content(100_000, seed: 2) : content(100_000)
    if hasChanged { server.change(now, tag: "\"2\"") }
    var current = sandbox.asked()
    current.reuse = reuse
    let file = try await downloader.download(current)
    #expect(sandbox.bytes() == now && sandbox.names == [".json", "file"])
    #expect(file.resumedBytes == (hasChanged ? 0 : 100_000))
    #expect(server.requests.count == 2)
    #expect(server.requests[1].fields.first(named: "If-None-Match")?.text == "\"1\"")
  }

  @Test func `a whole part without an expiry gets its name without a network`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    let faults = Array(repeating: FileServer.Fault(error: .cannotConnect), count: 20)
    for fault in faults { server.fail(fault) }
    _ = await sandbox.failure(downloader, sandbox.asked())
    #expect(sandbox.bytes() == content(100_000) && sandbox.names == [".json", "file"])
    #expect(try await downloader.fileNow(sandbox.asked()) != nil)
  }

  @Test func `a whole part replaces no file without a network`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    server.fail(.init(error: .cannotConnect))
    #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
    #expect(sandbox.bytes() == Array("mine".utf8))
    #expect(try await downloader.download(sandbox.asked()).resumedBytes == 100_000)
    #expect(sandbox.bytes() == content(100_000))
  }

  @Test func `a whole part that a kill left replaces no file without a network`() async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked())
    try sandbox.undoRename(of: "file")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    server.fail(.init(error: .cannotConnect))
    #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
    #expect(sandbox.bytes() == Array("mine".utf8))
    try FileManager.default.removeItem(atPath: sandbox.path())
    #expect(try await downloader.download(sandbox.asked()).source == .confirmed)
    #expect(sandbox.bytes() == content(100_000))
  }

  @Test func `a whole part that a kill left replaces a file if no server has to be asked`()
    async throws
  {
    let downloader = sandbox.downloader(server)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 60)
    _ = try await downloader.download(asked)
    try sandbox.undoRename(of: "file")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
    _ = try await downloader.download(asked)
    #expect(sandbox.bytes() == content(100_000) && server.requests.count == 1)
  }

  @Test func `a whole part waits for the server if the caller wants that`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    server.fail(.init(error: .cannotConnect))
    var asked = sandbox.asked()
    asked.reuse = .confirmed
    #expect(await sandbox.failure(downloader, asked) != nil)
    #expect(sandbox.bytes() == nil)
  }

  @Test func `a whole part is not newer than now after the clock was set back`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    sandbox.clock.advance(bySeconds: -50)
    var asked = sandbox.asked()
    asked.expiry = DownloadExpiry(after: 60)
    _ = try await downloader.download(asked)
    #expect(try await downloader.download(asked).source == .file)
    #expect(server.requests.count == 1)
  }

  @Test func `what was begun stays if a file is in its place`() async throws {
    let downloader = sandbox.downloader(server)
    var careful = sandbox.asked()
    careful.replacesOthers = false
    for isWhole in [true, false] {
      if isWhole {
        _ = try await downloader.download(careful)
        try sandbox.undoRename(of: "file")
      } else {
        server.fail(.init(cut: 70_000))
        _ = await sandbox.failure(downloader, careful)
        // As a kill before the first bytes are written leaves it.
        try Data().write(to: URL(fileURLWithPath: sandbox.hidden(".part")))
      }
      try Data("mine".utf8).write(to: URL(fileURLWithPath: sandbox.path()))
      let names = sandbox.names
      #expect(await sandbox.failure(downloader, careful) == .fileExists)
      #expect(Set(names).isSubset(of: sandbox.names))
      try FileManager.default.removeItem(atPath: sandbox.path())
      try await downloader.removeAll(in: sandbox.folder)
    }
  }

  @Test func `a whole part waits while the server is not the one that it should be`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    server.fail(.init(error: .certificate))
    #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
    #expect(sandbox.bytes() == nil)
    #expect(try await downloader.download(sandbox.asked()).resumedBytes == 100_000)
  }

  @Test func `a whole part that has not expired is confirmed for those who want that`() async throws
  {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    var asked = sandbox.asked()
    (asked.expiry, asked.reuse) = (DownloadExpiry(after: 60), .confirmed)
    #expect(try await downloader.download(asked).resumedBytes == 100_000)
    #expect(server.requests.count == 2)
  }

  @Test func `a file that appears while the request is sent stays`() async throws {
    let path = sandbox.path()
    let scripted = ScriptedTransport { _ in
      _ = FileManager.default.createFile(atPath: path, contents: Data("mine".utf8))
      return .success(.init("content"))
    }
    let downloader = Downloader(transport: scripted, clock: sandbox.clock)
    var asked = sandbox.asked()
    asked.replacesOthers = false
    let error = await #expect(throws: DownloadError.self) { try await downloader.download(asked) }
    #expect(error?.cause == .fileExists && sandbox.bytes() == Array("mine".utf8))
  }

  @Test func `the time of a whole part counts from when the server gave it`() async throws {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    sandbox.clock.advance(bySeconds: 50)
    var hour = sandbox.asked()
    hour.expiry = DownloadExpiry(after: 60)
    _ = try await downloader.download(hour)
    #expect(server.requests.count == 1)
    sandbox.clock.advance(bySeconds: 11)
    #expect(try await downloader.download(hour).source == .confirmed)
  }

  @Test func `a whole part that has expired waits while the server cannot be reached`() async throws
  {
    let downloader = sandbox.downloader(server)
    try await leaveWholePart(downloader)
    server.fail(.init(status: 403))
    var current = sandbox.asked()
    current.reuse = .confirmed
    #expect(await sandbox.failure(downloader, current) == .status(403))
    #expect(try await downloader.download(current).resumedBytes == 100_000)
    #expect(server.requests.count == 3)
  }

  @Test func `a whole part waits while another URL gives nothing for its file`() async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked())
    // A kill before the rename.
    try sandbox.undoRename(of: "file")
    server.fail(.init(status: 403))
    #expect(await sandbox.failure(downloader, sandbox.asked(url: "/other")) == .status(403))
    #expect(try await downloader.download(sandbox.asked()).source == .confirmed)
    #expect(server.requests.count == 3)
  }

  @Test(arguments: [0o600, 0o640, 0o400])
  func `a new version has the permissions of the old one`(mode: Int) async throws {
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(sandbox.asked())
    unsafe chmod(sandbox.path(), mode_t(mode))
    server.change(content(90_000, seed: 2), tag: "\"2\"")
    let gate = Gate()
    server.fail(.init(gate: gate))
    let download = downloader.start(sandbox.asked())
    await eventually { download.progress.received > 0 }
    #expect(try permissions(sandbox.hidden(".part")) == mode | 0o600)
    gate.open()
    _ = try await download.value()
    #expect(try permissions(sandbox.path()) == mode | 0o600)
  }

  private func permissions(_ path: String) throws -> Int {
    var status = stat()
    try #require(unsafe stat(path, &status) == 0)
    return Int(status.st_mode & 0o777)
  }

  @Test func `a file in the place of a link has not the permissions of the link`() async throws {
    try Data("old".utf8).write(to: URL(fileURLWithPath: sandbox.path("old")))
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path(), withDestinationPath: sandbox.path("old"))
    _ = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(try permissions(sandbox.path()) & 0o111 == 0)
    #expect(sandbox.bytes("old") == Array("old".utf8))
  }
}
