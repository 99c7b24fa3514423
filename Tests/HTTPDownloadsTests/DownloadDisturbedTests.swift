import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import MessageDigests
import SimulatedFiles
import Synchronization
import Testing

@testable import HTTPDownloads

/// Others who are at the files of a download, and callers who change their mind.
@Suite(.timeLimit(.minutes(2)))
struct DownloadDisturbedTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)
  private let server = FileServer(content(1_000_000))

  /// Starts a download that stands after its first piece.
  private func held(_ name: String = "file") async -> (Download, Gate) {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let download = sandbox.downloader(server).start(sandbox.asked(name))
    await eventually { download.progress.received > 0 }
    return (download, gate)
  }

  private func cause(of download: Download) async -> DownloadError.Cause? {
    do {
      _ = try await download.value()
      return nil
    } catch {
      return error.cause
    }
  }

  @Test(arguments: ["removed", "replaced", "grown"])
  func `a part that others touch never takes the name of the file`(how: String) async throws {
    let (download, gate) = await held()
    let part = try sandbox.hidden(".part")
    if how == "grown" {
      let handle = try #require(FileHandle(forUpdatingAtPath: part))
      try handle.truncate(atOffset: 2_000_000)
      try handle.close()
    } else {
      try FileManager.default.removeItem(atPath: part)
    }
    if how == "replaced" { try Data("of another".utf8).write(to: URL(fileURLWithPath: part)) }
    gate.open()
    #expect(await cause(of: download) == .disturbed)
    #expect(sandbox.bytes() == nil)
    _ = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(sandbox.bytes() == big)
    #expect(sandbox.names == [".json", "file"])
  }

  @Test(arguments: [EMFILE, EIO, ENOMEM], [false, true])
  func `bytes stay while their record cannot be read`(code: Int32, isBegun: Bool) async throws {
    let disk = FaultyFiles()
    let server = FileServer(big, faults: [.init(cut: 600_000), .init(error: .cannotConnect)])
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    _ = await sandbox.failure(downloader, sandbox.asked())
    disk.faults.set { call in
      let isRecord = call.kind == .open && call.name.hasSuffix(".part.json")
      return isRecord && server.requests.count > (isBegun ? 1 : 0) ? SystemError(code) : nil
    }
    let cause = await sandbox.failure(downloader, sandbox.asked())
    if !isBegun { #expect(cause == .file(SystemError(code))) }
    disk.faults.set(nil)
    if !isBegun { _ = await sandbox.failure(downloader, sandbox.asked()) }
    #expect(try await downloader.download(sandbox.asked()).resumedBytes == 600_000)
    #expect(sandbox.bytes() == big)
  }

  @Test func `a download that is forgotten ends for all its callers`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let download = downloader.start(sandbox.asked())
    #expect(downloader.start(sandbox.asked()) === download)
    await eventually { download.progress.received > 0 }
    let error = await #expect(throws: DownloadError.self) {
      try await sandbox.downloader(server).forget(sandbox.path())
    }
    #expect(error?.cause == .file(.wouldBlock), "that of another downloader goes on")
    #expect(error?.description.contains("it is being downloaded elsewhere") == true)
    server.fail(.init(gate: gate))
    let other = downloader.start(sandbox.asked("other", url: "/other"))
    await eventually { other.progress.received > 0 }
    try await downloader.forget(sandbox.path())
    gate.open()
    #expect(await cause(of: download) == .cancelled)
    #expect(try await other.value().source == .network)
    #expect(sandbox.names == [".json", "other"])
  }

  @Test func `who joins a paused download resumes it`() async throws {
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    first.pause()
    #expect(first.isStopped)
    let second = downloader.start(sandbox.asked())
    // The first may be over before it is paused.
    #expect(second !== first || !first.isStopped)
    second.resume()
    #expect(await cause(of: second) == nil)
  }

  @Test func `a download that has ended holds no file and no lock`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(
      FileServer(content(100_000), faults: Array(repeating: .init(cut: 50_000), count: 100)),
      DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    // Others keep the cores busy, so that threads are interrupted anywhere.
    let busy = (0..<4).map { _ in Task.detached { while !Task.isCancelled { await Task.yield() } } }
    defer { for task in busy { task.cancel() } }
    for _ in 0..<100 {
      #expect(await sandbox.failure(downloader, sandbox.asked()) != nil)
      #expect(disk.faults.openDescriptors == 0)
      try await downloader.forget(sandbox.path())
      #expect(disk.faults.openDescriptors == 0 && sandbox.names.isEmpty)
    }
  }

  @Test(arguments: ["valid", "had", "offline"])
  func `a file that is there is held against the caller's digest, too`(how: String) async throws {
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: how == "valid" ? 0 : 100)
    let downloader = sandbox.downloader(server)
    _ = try await downloader.download(request)
    let right = try StatedDigest(.sha256, MessageDigest.of(big, .sha256))
    let wrong = try StatedDigest(.sha256, MessageDigest.of([], .sha256))
    request.digest = right
    if how == "offline" {
      #expect(try await downloader.fileNow(request) != nil)
      request.digest = wrong
      #expect(try await downloader.fileNow(request) == nil)
      return
    }
    #expect(try await downloader.download(request).receivedBytes == 0)
    request.digest = wrong
    #expect(
      await sandbox.failure(downloader, request)
        == .wrongDigest(expected: wrong, actual: right))
    #expect(sandbox.bytes() == big)
  }

  @Test func `who asks for a digest joins nobody who asks for none`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    var request = sandbox.asked()
    let wrong = try StatedDigest(.sha256, MessageDigest.of([], .sha256))
    request.digest = wrong
    let second = downloader.start(request)
    #expect(second !== first)
    gate.open()
    #expect(await cause(of: first) == nil)
    guard case .wrongDigest? = await cause(of: second) else {
      return #expect(Bool(false), "it is taken without a look")
    }
  }

  @Test func `a file with another digest is not copied from another download`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    let newer = content(600_000, seed: 2)
    server.change(newer, tag: "\"2\"")
    var request = sandbox.asked("other")
    request.digest = try StatedDigest(.sha256, MessageDigest.of(newer, .sha256))
    let second = downloader.start(request)
    gate.open()
    #expect(await cause(of: first) == nil)
    #expect(try await second.value().source == .network)
    #expect(sandbox.bytes() == big && sandbox.bytes("other") == newer)
  }

  @Test func `after a log-in, nobody joins or copies what another user has asked for`() async throws
  {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked())
    await eventually { first.progress.received > 0 }
    var (same, other) = (sandbox.asked(), sandbox.asked("other"))
    same.loginState = 1
    // Another one logs in again.
    other.loginState = 2
    let second = downloader.start(same)
    let third = downloader.start(other)
    #expect(second !== first)
    // The third has a request of its own, while the first one is held.
    #expect(await cause(of: third) == nil)
    #expect(server.ranges.count == 2)
    gate.open()
    #expect(await cause(of: first) == nil)
    #expect(await cause(of: second) == nil)
  }

  @Test func `a pause that is over at once ends nothing`() async throws {
    for _ in 0..<50 {
      let gate = Gate()
      server.fail(.init(gate: gate))
      var request = sandbox.asked()
      request.reuse = .never
      let download = sandbox.downloader(server).start(request)
      await eventually { download.progress.received > 0 }
      download.pause()
      download.resume()
      gate.open()
      #expect(await cause(of: download) == nil)
    }
    #expect(sandbox.bytes() == big)
  }

  /// Changes bytes near the end of a file, in place.
  private static func change(_ path: String) {
    guard let file = FileHandle(forUpdatingAtPath: path) else { return }
    try? file.seek(toOffset: 900_000)
    try? file.write(contentsOf: Data("changed in place".utf8))
    try? file.close()
  }

  @Test func `a file that is changed while it is read as a whole is not used`() async throws {
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    let disk = FaultyFiles()
    #expect(try file.bytes(disk) == big)
    disk.faults.set { call in
      if call.kind == .read { Self.change(file.path) }
      return nil
    }
    #expect(try file.bytes(disk) == nil)
  }

  @Test func `a file that is changed while it is copied is downloaded instead`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    let path = sandbox.path()
    let isOpen = Mutex<Bool?>(false)
    disk.faults.set { call in
      let isCopying = isOpen.withLock { isOpen in
        if call.kind == .openUserPath, call.name == path, isOpen == false { isOpen = true }
        guard call.kind == .write, isOpen == true else { return false }
        isOpen = nil
        return true
      }
      if isCopying { Self.change(path) }
      return nil
    }
    let copying = DownloadRun(downloader: downloader, download: Download(sandbox.asked("second")))
    let copy = try await copying.run(copying: source)
    #expect(isOpen.withLock { $0 } == nil && copy.source == .network)
    #expect(sandbox.bytes("second") == big)
  }

  /// Copies a file that was just downloaded to another name, and cancels that before the copy begins.
  private func cancelCopy(to name: String) async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    // The last call before the copy begins reads the record of the interrupted download.
    let copying = Download(sandbox.asked(name))
    disk.faults.set { call in
      if call.kind == .open, call.name.hasSuffix(".part.json") { copying.cancel() }
      return nil
    }
    await #expect(throws: DownloadError.self) {
      try await DownloadRun(downloader: downloader, download: copying).run(copying: source)
    }
    #expect(copying.isCancelled)
  }

  @Test func `a copy that is cancelled leaves the bytes of an interrupted download`() async throws {
    server.fail(.init(cut: 600_000))
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked("second"))
    try await cancelCopy(to: "second")
    let rest = try await sandbox.downloader(server).download(sandbox.asked("second"))
    #expect(rest.resumedBytes == 600_000 && sandbox.bytes("second") == big)
  }

  @Test func `a copy that is cancelled leaves a whole file of another URL`() async throws {
    let other = sandbox.asked("second", url: "/other")
    _ = try await sandbox.downloader(server).download(other)
    // A kill before the rename.
    try sandbox.undoRename(of: "second")
    try await cancelCopy(to: "second")
    let file = try await sandbox.downloader(server).download(other)
    #expect(file.source == .confirmed && server.requests.count == 3)
  }

  @Test func `a copy that is cancelled while it is written leaves nothing`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    let copying = Download(sandbox.asked("second"))
    disk.faults.set { call in
      if call.kind == .write { copying.cancel() }
      return nil
    }
    await #expect(throws: DownloadError.self) {
      try await DownloadRun(downloader: downloader, download: copying).run(copying: source)
    }
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `a file that was changed is not read for a copy`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    Self.change(sandbox.path())
    disk.faults.set { _ in nil }
    let copying = DownloadRun(downloader: downloader, download: Download(sandbox.asked("second")))
    #expect(try await copying.run(copying: source).source == .network)
    #expect(!disk.faults.calls.contains { $0.kind == .read && $0.name == sandbox.path() })
  }

  @Test func `a copy for which there is no room leaves nothing`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let source = Download(sandbox.asked())
    source.settle(.success(try await downloader.download(source.request)))
    let isFull = CountedFault(after: 2, lasts: true, SystemError(ENOSPC)) { $0.kind == .write }
    disk.faults.set { isFull.check($0) }
    let copying = DownloadRun(downloader: downloader, download: Download(sandbox.asked("second")))
    await #expect(throws: DownloadError.self) { try await copying.run(copying: source) }
    #expect(isFull.hasStruck && sandbox.names == [".json", "file"])
  }

  @Test func `who waits for a file to copy keeps no other process from its own`() async throws {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let downloader = sandbox.downloader(server)
    let first = downloader.start(sandbox.asked("a"))
    await eventually { first.progress.received > 0 }
    let second = downloader.start(sandbox.asked("b"))
    for _ in 0..<100 { await Task.yield() }
    // The second would wait for the first for ever, if that waited for this one.
    _ = try await sandbox.downloader(server).download(sandbox.asked("b"))
    gate.open()
    _ = try await (first.value(), second.value())
    #expect(sandbox.bytes("a") == big && sandbox.bytes("b") == big)
  }

  @Test func `without a free descriptor a download waits for the others`() async throws {
    let disk = FaultyFiles()
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let gate = Gate()
    server.fail(.init(gate: gate))
    let first = downloader.start(sandbox.asked("a"))
    await eventually { first.progress.received > 0 }
    let isOut = CountedFault(after: 0, SystemError(EMFILE)) { $0.kind == .openUserPath }
    disk.faults.set { isOut.check($0) }
    let second = downloader.start(sandbox.asked("b", url: "/b"))
    #expect(await cause(of: second) == nil)
    #expect(isOut.hasStruck)
    gate.open()
    _ = try await first.value()
  }
}
