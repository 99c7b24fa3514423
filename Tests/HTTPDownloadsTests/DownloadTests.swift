import CacheFormat
import CacheSystem
import ClientTesting
import Foundation
import SimulatedFiles
import Testing

@testable import HTTPDownloads

@Suite(.timeLimit(.minutes(2)))
struct DownloadTests {
  private let sandbox = DownloadSandbox()
  private let big = content(1_000_000)

  /// Starts a download that stands after its first piece.
  private func held(_ downloader: Downloader, _ server: FileServer, _ name: String = "file")
    async -> (Download, Gate)
  {
    let gate = Gate()
    server.fail(.init(gate: gate))
    let download = downloader.start(sandbox.asked(name))
    await eventually { download.progress.received > 0 }
    return (download, gate)
  }

  @Test func `progress is told to the end, to all who look`() async throws {
    let server = FileServer(big)
    let download = sandbox.downloader(server).start(sandbox.asked())
    async let first = download.updates.reduce(into: []) { $0.append($1) }
    async let second = download.updates.reduce(into: []) { $0.append($1) }
    _ = try await download.value()
    for updates in await [first, second] {
      #expect(updates.last?.phase == .finished)
      #expect(updates.last?.received == 1_000_000 && updates.last?.total == 1_000_000)
      #expect(zip(updates, updates.dropFirst()).allSatisfy { $0.received <= $1.received })
    }
    let late = await download.updates.reduce(into: []) { $0.append($1) }
    #expect(late.map(\.phase) == [.finished])
  }

  @Test func `a pause keeps what has come, and resume goes on from there`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (download, _) = await held(downloader, server)
    download.pause()
    await eventually { download.progress.phase == .paused }
    #expect(server.requests.count == 1)
    download.resume()
    let file = try await download.value()
    #expect(server.ranges.map { $0.hasPrefix("bytes=") } == [false, true])
    #expect(file.receivedBytes == 1_000_000)
    #expect(sandbox.bytes() == big)
  }

  @Test func `all downloads are over once they were ended, also by a cancelled task`() async throws
  {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (download, _) = await held(downloader, server)
    let ending = Task {
      while !Task.isCancelled { await Task.yield() }
      await downloader.endAll()
      return download.progress.isOver
    }
    ending.cancel()
    #expect(await ending.value)
  }

  @Test(arguments: [false, true])
  func `a cancelled caller leaves at once while another one waits`(isPaused: Bool) async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (download, gate) = await held(downloader, server)
    if isPaused {
      download.pause()
      await eventually { download.progress.phase == .paused }
    }
    let asked = sandbox.asked()
    let caller = Task { await sandbox.failure(downloader, asked) }
    await eventually { download.askerCount == 2 }
    caller.cancel()
    #expect(await caller.value == .cancelled)
    download.resume()
    gate.open()
    _ = try await download.value()
    #expect(sandbox.bytes() == big)
  }

  @Test func `a cancelled download is resumed by the next call`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (download, _) = await held(downloader, server)
    download.cancel()
    await #expect(throws: download.error(.cancelled)) { try await download.value() }
    #expect(download.progress.phase == .failed(download.error(.cancelled)))
    _ = try await downloader.download(sandbox.asked())
    #expect(server.ranges.last?.hasPrefix("bytes=") == true)
  }

  @Test func `a paused one can be cancelled`() async throws {
    let server = FileServer(big)
    let (download, _) = await held(sandbox.downloader(server), server)
    download.pause()
    await eventually { download.progress.phase == .paused }
    download.cancel()
    await #expect(throws: DownloadError.self) { try await download.value() }
  }

  @Test(.timeLimit(.minutes(1))) func `a paused one goes on for whoever asks without a handle`()
    async throws
  {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (download, _) = await held(downloader, server)
    download.pause()
    await eventually { download.progress.phase == .paused }
    _ = try await downloader.download(sandbox.asked())
  }

  @Test func `a task that is cancelled ends its download`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let gate = Gate()
    server.fail(.init(gate: gate))
    let request = sandbox.asked()
    let task = Task { await sandbox.failure(downloader, request) }
    await eventually { !server.requests.isEmpty }
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test func `the same URL and file is one download, which the last who asked ends`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (first, gate) = await held(downloader, server)
    let second = downloader.start(sandbox.asked())
    #expect(first === second)
    first.cancel()
    gate.open()
    _ = try await second.value()
    #expect(server.requests.count == 1)
  }

  @Test func `the same URL to another file is copied`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (first, gate) = await held(downloader, server)
    let second = downloader.start(sandbox.asked("other"))
    gate.open()
    let (one, two) = (try await first.value(), try await second.value())
    #expect(one.source == .network && two.source == .copy)
    #expect(server.requests.count == 1)
    #expect(sandbox.bytes("other") == big)
    #expect(sandbox.names == [".json", ".json", "file", "other"])
    #expect(two.record.file.string == "other")
  }

  @Test func `where the first fails, the second fetches for itself`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (first, _) = await held(downloader, server)
    let second = downloader.start(sandbox.asked("other"))
    first.cancel()
    #expect(try await second.value().source == .network)
    #expect(sandbox.bytes("other") == big)
  }

  @Test func `only so many have files open, however many were started`() async throws {
    let server = FileServer(content(1000))
    let gates = (0..<2).map { _ in Gate() }
    for gate in gates { server.fail(.init(gate: gate)) }
    let downloader = sandbox.downloader(server, transfers: 2)
    let downloads = (0..<40).map { downloader.start(sandbox.asked("\($0)", url: "/\($0)")) }
    await eventually { server.requests.count == 2 }
    for _ in 0..<1000 { await Task.yield() }
    #expect(sandbox.names.count { $0 == ".part" } <= 4)
    for gate in gates { gate.open() }
    for download in downloads { _ = try await download.value() }
  }

  @Test func `progress tells what was there before`() async throws {
    let server = FileServer(big, faults: [.init(cut: 300_000)])
    _ = await sandbox.failure(sandbox.downloader(server), sandbox.asked())
    let (second, gate) = await held(sandbox.downloader(server), server)
    #expect(second.progress.resumed == 300_000 && second.progress.received >= 300_000)
    gate.open()
    _ = try await second.value()
    #expect(second.progress.resumed == 300_000 && second.progress.received == 1_000_000)
    // A file that the server confirms was there, and one that it has changed counts from its start.
    let valid = sandbox.downloader(server).start(sandbox.asked())
    _ = try await valid.value()
    #expect(valid.progress.resumed == 1_000_000 && valid.progress.received == 1_000_000)
    server.change(big, tag: "\"2\"")
    let new = sandbox.downloader(server).start(sandbox.asked())
    _ = try await new.value()
    #expect(new.progress.resumed == 0 && new.progress.received == 1_000_000)
  }

  @Test func `a paused one has nothing open, and its file may come from another`() async throws {
    let server = FileServer(big)
    let (first, _) = await held(sandbox.downloader(server, transfers: 1), server)
    first.pause()
    await eventually { first.progress.phase == .paused }
    let file = try await sandbox.downloader(server).download(sandbox.asked())
    #expect(file.resumedBytes > 0)
    first.resume()
    #expect(try await first.value().source == .confirmed)
    #expect(sandbox.bytes() == big)
  }

  @Test func `another that has the lock is waited for, and its file is used`() async throws {
    // Two downloaders know as little of each other as two processes.
    let server = FileServer(big)
    let (first, gate) = await held(sandbox.downloader(server), server)
    var request = sandbox.asked()
    request.expiry = DownloadExpiry(after: 100)
    let files = FaultyFiles()
    files.faults.set(nil)
    let second = Downloader(server, DownloaderOptions(), sandbox.clock, files).start(request)
    await eventually { files.faults.calls.contains { $0.kind == .lock } }
    #expect(second.progress.phase == .waiting)
    gate.open()
    _ = try await first.value()
    let file = try await second.value()
    #expect(file.source == .confirmed)
    #expect(sandbox.bytes() == big)
    #expect(sandbox.names == [".json", "file"])
  }

  @Test func `one that waits for another can be cancelled`() async throws {
    let server = FileServer(big)
    let (first, gate) = await held(sandbox.downloader(server), server)
    let second = sandbox.downloader(server).start(sandbox.asked())
    await eventually { second.progress.phase == .waiting }
    second.cancel()
    await #expect(throws: DownloadError.self) { try await second.value() }
    gate.open()
    _ = try await first.value()
  }

  @Test func `a full disk keeps what was written, and room lets it go on`() async throws {
    let disk = FaultyFiles()
    let server = FileServer(big)
    let downloader = Downloader(
      server, DownloaderOptions(maximumRetries: 0), sandbox.clock, disk)
    let (download, gate) = await held(downloader, server)
    disk.faults.setFull(true)
    gate.open()
    await #expect(throws: download.error(.file(SystemError(ENOSPC)))) {
      try await download.value()
    }
    #expect(sandbox.bytes() == nil)
    disk.faults.setFull(false)
    _ = try await downloader.download(sandbox.asked())
    #expect(sandbox.bytes() == big)
  }

  @Test func `many at once finish, with no more transfers than allowed`() async throws {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server, transfers: 5, perHost: 3)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        let request = sandbox.asked("f\(number)", url: "/\(number)")
        group.addTask { _ = try await downloader.download(request) }
      }
      try await group.waitForAll()
    }
    #expect(sandbox.names.count == 400)
    #expect(sandbox.bytes("f199") == big)
  }

  @Test(arguments: [true, false])
  func `a step is stopped, also if its pause is over when it ends`(isCancelled: Bool) async {
    let download = Download(sandbox.asked())
    let hasBegun = Lock(false)
    let isOver = Lock(false)
    async let outcome = download.run {
      hasBegun.withLock { $0 = true }
      while !Task.isCancelled { await Task.yield() }
      isOver.withLock { $0 = true }
    }
    await eventually { hasBegun.withLock { $0 } }
    while !isOver.withLock({ $0 }) {
      if isCancelled {
        download.cancel()
      } else {
        download.pause()
        download.resume()
      }
      await Task.yield()
    }
    #expect(await outcome.isStopped)
  }

  @Test func `no step begins in a pause, and none once all have cancelled`() async {
    let download = Download(sandbox.asked())
    download.pause()
    #expect(await download.run {}.isStopped)
    download.cancel()
    let error = await #expect(throws: DownloadError.self) { try await download.waitWhilePaused() }
    #expect(error?.cause == .cancelled)
  }

  @Test func `bytes are reported after a while, with a rate that begins anew in each phase`() async
  {
    let download = Download(sandbox.asked())
    download.tell { $0.phase = .receiving }
    let start = ContinuousClock.now
    var updates = download.updates.makeAsyncIterator()
    #expect(await updates.next()?.received == 0)
    download.note(1000, at: start + .seconds(1))
    #expect(await updates.next()?.received == 1000)
    download.note(3000, at: start + .seconds(2))
    #expect(await updates.next()?.bytesPerSecond == 2000)
    download.tell { $0.phase = .waiting }
    download.tell { $0.phase = .receiving }
    download.note(3001, at: start + .seconds(60))
    #expect(download.progress.bytesPerSecond == nil)
  }

  @Test func `a caller that is cancelled returns once the files are closed`() async {
    for number in 0..<20 {
      let disk = FaultyFiles()
      let server = FileServer(big, faults: [.init(gate: Gate())])
      let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
      let asked = sandbox.asked("\(number)")
      let caller = Task { try await downloader.download(asked) }
      await eventually { server.sent > 0 }
      caller.cancel()
      _ = await caller.result
      #expect(disk.faults.openDescriptors == 0)
    }
  }

  @Test func `a download that is cancelled before its request leaves nothing`() async {
    let disk = FaultyFiles()
    let server = FileServer(big)
    let downloader = Downloader(server, DownloaderOptions(), sandbox.clock, disk)
    let download = Download(sandbox.asked())
    disk.faults.set { call in
      if call.kind == .open, call.name.hasSuffix(".part.json") { download.cancel() }
      return nil
    }
    await #expect(throws: DownloadError.self) {
      try await DownloadRun(downloader: downloader, download: download).run(copying: nil)
    }
    #expect(server.requests.isEmpty && sandbox.names.isEmpty)
  }

  @Test func `a file is copied neither onto itself nor for a caller who wants it anew`()
    async throws
  {
    let server = FileServer(big)
    let downloader = sandbox.downloader(server)
    let (first, gate) = await held(downloader, server)
    var (same, anew) = (sandbox.asked(), sandbox.asked("anew"))
    (same.resumes, anew.reuse) = (false, .never)
    let (second, third) = (downloader.start(same), downloader.start(anew))
    gate.open()
    _ = try await first.value()
    #expect(try await second.value().source == .confirmed)
    #expect(try await third.value().source == .network)
  }
}
