import LoopbackOrigin
import MessageDigests
import Synchronization
import Testing

@testable import OfflineCacheKit

/// Downloads of what is stored as well.
@Suite(.timeLimit(.minutes(5)))
struct OfflineCacheWrittenFileTests {
  /// Answers with a tag and no freshness, so that what is stored has to be validated.
  private static func tagged(_ request: OriginRequest) -> OriginAnswer {
    let fields = ["ETag: \"1\"", "Cache-Control: no-cache"]
    return request.value(of: "If-None-Match") == "\"1\""
      ? OriginAnswer("", status: 304, fields: fields) : OriginAnswer("hello", fields: fields)
  }

  @Test(arguments: [false, true])
  func `a file counts until it expires, although it is stored and stale`(isSliding: Bool)
    async throws
  {
    let sandbox = try FaceSandbox(OfflineCacheOptions()) { Self.tagged($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    let settings = DownloadSettings(expiresAfter: 100, isSliding: isSliding)
    try await sandbox.cache.download(for: sandbox.request(), to: file, settings: settings)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) != nil)
    for _ in 0..<2 {
      sandbox.clock.advance(bySeconds: 60)
      let response = try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: settings)
      #expect(response.metadata?.download?.file == file)
    }
    #expect(sandbox.origin.requests.count == (isSliding ? 1 : 2))
    // Who reloads gets what the server has.
    try await sandbox.cache.download(
      for: sandbox.request("/a", .reloadIgnoringLocalCacheData), to: file, settings: settings)
    #expect(sandbox.origin.requests.count == (isSliding ? 2 : 3))
  }

  @Test func `what was begun as a download and came from the store is no longer unfinished`()
    async throws
  {
    let body = String(repeating: "0123456789", count: 100_000)
    let sandbox = try FaceSandbox(OfflineCacheOptions()) { request in
      let isDownload = request.value(of: "X-A") != nil
      return OriginAnswer(
        body, fields: ["ETag: \"1\"", "Cache-Control: max-age=1000"]
      ).cut(after: isDownload ? 600_000 : nil)
    }
    let file = sandbox.folder.appendingPathComponent("file")
    var cut = sandbox.request()
    cut.setValue("a", forHTTPHeaderField: "X-A")
    cut.timeoutInterval = 5
    let begun = try sandbox.cache.startDownload(
      for: cut, to: file, settings: DownloadSettings(expiresAfter: 3600))
    for await progress in begun.updates where progress.received == 600_000 { break }
    begun.cancel()
    _ = try? await begun.value()
    #expect(try await sandbox.cache.unfinishedDownloads(in: sandbox.folder).count == 1)
    _ = try await sandbox.cache.data(for: sandbox.request())
    let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(response.metadata?.download?.source == .store)
    #expect(response.metadata?.download?.expires != nil)
    #expect(try await sandbox.cache.unfinishedDownloads(in: sandbox.folder).isEmpty)
    #expect(try Data(contentsOf: file) == Data(body.utf8))
  }

  @Test func `what was written from the store is known as a download`() async throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions()) { Self.tagged($0) }
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.data(for: sandbox.request())
    let response = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: DownloadSettings(expiresAfter: 100))
    let download = try #require(response.metadata?.download)
    #expect(download.source == .store && download.receivedBytes == 0)
    #expect(download.expires != nil && download.file == file)
    #expect(response.metadata?.source != .network)
    #expect(try await !sandbox.cache.needsUpdate(sandbox.origin.url("/a"), file: file))
    let count = sandbox.origin.requests.count
    let again = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(again.metadata?.source == .file)
    #expect(sandbox.origin.requests.count == count)
    #expect(try Data(contentsOf: file) == Data("hello".utf8))
    // A file that somebody has changed is none of ours.
    try Data("other".utf8).write(to: file)
    _ = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(try Data(contentsOf: file) == Data("hello".utf8))
    #expect(sandbox.files == ["file"])
  }

  @Test(
    arguments: [(OfflineMode.whenUnreachable, true), (.whenUnreachable, false), (.always, true)],
    [URLRequest.CachePolicy.useProtocolCachePolicy, .returnCacheDataElseLoad])
  func `of a file and a stored response, the newer one is the file then`(
    mode: (OfflineMode, hasServer: Bool), policy: URLRequest.CachePolicy
  ) async throws {
    let (mode, hasServer) = mode
    for isStoredFirst in [true, false] {
      let isNewer = Flag()
      let sandbox = try FaceSandbox { _ in fresh(isNewer.isSet ? "newer" : "old") }
      let file = sandbox.folder.appendingPathComponent("file")
      func store() async throws { _ = try await sandbox.cache.data(for: sandbox.request()) }
      if isStoredFirst { try await store() }
      if isStoredFirst { isNewer.set() }
      sandbox.clock.advance(bySeconds: 10)
      _ = try await sandbox.cache.startDownload(for: sandbox.request(), to: file).value()
      sandbox.clock.advance(bySeconds: 10)
      isNewer.set()
      if !isStoredFirst { try await store() }
      sandbox.cache.offlineMode = mode
      if !hasServer {
        sandbox.origin.stop()
        sandbox.clock.advance(bySeconds: 5000)
      }
      let response = try await sandbox.cache.download(for: sandbox.request("/a", policy), to: file)
      #expect(try Data(contentsOf: file) == Data("newer".utf8))
      #expect(response.metadata?.download?.file == file && sandbox.files == ["file"])
      if mode == .always {
        #expect((response.metadata?.source == .file) == isStoredFirst)
      }
    }
  }

  @Test func `a file from before the clock was set back is not newer than what is stored`()
    async throws
  {
    let isNewer = Flag()
    let sandbox = try FaceSandbox { _ in fresh(isNewer.isSet ? "newer" : "old") }
    let file = sandbox.folder.appendingPathComponent("file")
    sandbox.clock.advance(bySeconds: 1e8)
    _ = try await sandbox.cache.startDownload(for: sandbox.request(), to: file).value()
    sandbox.clock.advance(bySeconds: -1e8)
    isNewer.set()
    _ = try await sandbox.cache.data(for: sandbox.request())
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(try Data(contentsOf: file) == Data("newer".utf8))
  }

  @Test func `without its server a stored response with the wanted digest replaces another file`()
    async throws
  {
    let isNewer = Flag()
    let sandbox = try FaceSandbox { _ in fresh(isNewer.isSet ? "newer" : "old") }
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.startDownload(for: sandbox.request(), to: file).value()
    isNewer.set()
    _ = try await sandbox.cache.data(for: sandbox.request())
    sandbox.clock.advance(bySeconds: 5000)
    sandbox.origin.stop()
    let wanted = try StatedDigest(.sha256, MessageDigest.of(Array("newer".utf8), .sha256))
    try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: DownloadSettings(digest: wanted))
    #expect(try Data(contentsOf: file) == Data("newer".utf8))
  }

  @Test func `what is stored and fresh needs no server, also if there is a file`() async throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions(offlineMode: .never))
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.data(for: sandbox.request())
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    sandbox.origin.stop()
    let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(response.metadata?.source == .file && response.metadata?.isStale == false)
    #expect(
      response.metadata?.reason == "it was downloaded before, and no newer response is stored")
    // An expiry that has passed asks for the server.
    sandbox.clock.advance(bySeconds: 10)
    await #expect(throws: URLError.self) {
      try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: DownloadSettings(expiresAfter: 5))
    }
  }

  @Test func `a download that was begun is kept if a stale response is used meanwhile`()
    async throws
  {
    let isNewer = Flag()
    let body = String(repeating: "0123456789", count: 100_000)
    let sandbox = try FaceSandbox { _ in
      isNewer.isSet ? OriginAnswer(body, fields: ["ETag: \"2\""]).cut(after: 600_000) : fresh("old")
    }
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.data(for: sandbox.request())
    sandbox.clock.advance(bySeconds: 5000)
    isNewer.set()
    _ = try? await sandbox.cache.startDownload(for: sandbox.request(), to: file).value()
    sandbox.cache.offlineMode = .always
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    #expect(try await sandbox.cache.unfinishedDownloads(in: sandbox.folder).count == 1)
  }

  @Test func `cancelling a download from the store leaves the file as it was`() async throws {
    let sandbox = try FaceSandbox()
    let file = sandbox.folder.appendingPathComponent("file")
    let canceller = Canceller()
    sandbox.cache.delegate = canceller
    _ = try await sandbox.cache.data(for: sandbox.request())
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    // The last look-up of the next call is the one whose response is written.
    canceller.cancelNext(after: canceller.count)
    try Data("mine".utf8).write(to: file)
    let download = Task { () throws(URLError) in
      try await sandbox.cache.download(for: sandbox.request(), to: file)
    }
    let error = await #expect(throws: URLError.self) { try await download.value }
    #expect(error?.code == .cancelled)
    #expect(try Data(contentsOf: file) == Data("mine".utf8) && sandbox.files == ["file"])
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `if the connection breaks in the body, what is stored is written`() async throws {
    let breaks = Flag()
    let sandbox = try FaceSandbox { _ in
      fresh(breaks.isSet ? "newer" : "old", seconds: 10).cut(after: breaks.isSet ? 3 : nil)
    }
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.data(for: sandbox.request())
    sandbox.clock.advance(bySeconds: 100)
    breaks.set()
    let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    #expect(response.metadata?.reason.contains("could not be reached") == true)
    #expect(response.metadata?.download?.source == .store)
    #expect(sandbox.origin.requests.count == 2 && sandbox.files == ["file"])
    // Whoever asks for the origin gets an error, and the file stays.
    sandbox.cache.offlineMode = .never
    sandbox.clock.advance(bySeconds: 100)
    await #expect(throws: URLError.self) {
      try await sandbox.cache.download(for: sandbox.request(), to: file)
    }
    #expect(try Data(contentsOf: file) == Data("old".utf8) && sandbox.files == ["file"])
  }

  /// A body of this length is not verified before it is read.
  @Test func `a long body that is damaged on the disk is downloaded`() async throws {
    let body = String(repeating: "0123456789abcdef", count: 17 << 16)
    let sandbox = try FaceSandbox { _ in fresh(body) }
    _ = try await sandbox.cache.data(for: sandbox.request())
    try sandbox.damageBody(of: body.utf8.count, at: 1_000_000)
    let file = sandbox.folder.appendingPathComponent("file")
    let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(response.metadata?.source == .network)
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    #expect(sandbox.origin.requests.count == 2 && sandbox.files == ["file"])
  }

  @Test func `errors that are shown to people say what they are`() throws {
    let file = URL(fileURLWithPath: "/etc/passwd")
    let error = #expect(throws: StoreError.self) {
      try OfflineCache(capacity: 1 << 20, directory: file)
    }
    #expect(error?.localizedDescription == error?.description)
    #expect(error?.localizedDescription.contains("/etc/passwd") == true)
  }
}

/// A switch that a test turns on.
private final class Flag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}

/// Allows all stored responses, and cancels the task that looks one of them up.
private final class Canceller: OfflineCacheDelegate {
  private let state = Mutex((lookUps: 0, cancelAfter: Int.max))

  var count: Int { state.withLock { $0.lookUps } }

  /// Cancels the task that makes the given look-up from now on.
  func cancelNext(after count: Int) { state.withLock { $0 = (0, count) } }

  func offlineCache(
    _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
    for request: URLRequest
  ) -> Bool {
    let cancels = state.withLock { state in
      state.lookUps += 1
      return state.lookUps == state.cancelAfter
    }
    // Safety: the task is used only during the call.
    if cancels { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
    return true
  }
}
