import Dispatch
import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineDownloadTests {
  private static let body = [UInt8](Data(String(repeating: "0123456789", count: 300_000).utf8))

  /// Serves the body with a tag and ranges; cuts the answers off while it has cuts.
  private final class Server: Sendable {
    let cuts: Mutex<[Int]>
    let isDown = Atomic(false)

    init(cuts: [Int] = []) { self.cuts = Mutex(cuts) }

    func answer(_ request: OriginRequest) -> OriginAnswer {
      if isDown.load(ordering: .relaxed) {
        return OriginAnswer("cut").cut(after: 0)
      }
      let tag = "ETag: \"1\""
      if request.value(of: "If-None-Match") == "\"1\"" {
        return OriginAnswer("", status: 304, fields: [tag])
      }
      let cut = cuts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      let body = OfflineDownloadTests.body
      guard let first = request.value(of: "Range").flatMap({ Int($0.dropFirst(6).dropLast()) })
      else { return OriginAnswer(body, fields: [tag]).cut(after: cut) }
      return OriginAnswer(
        Array(body[first...]), status: 206,
        fields: [tag, "Content-Range: bytes \(first)-\(body.count - 1)/\(body.count)"]
      ).cut(after: cut)
    }
  }

  private func sandbox(_ server: Server, retries: Int = 0) throws -> FaceSandbox {
    var options = OfflineCacheOptions()
    options.downloads.maximumRetries = retries
    options.downloads.retryDelay = .milliseconds(1)
    return try FaceSandbox(options) { server.answer($0) }
  }

  @Test func `a later call goes on, and tells so`() async throws {
    let sandbox = try sandbox(Server(cuts: [1_000_000]))
    let file = sandbox.folder.appendingPathComponent("file")
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.download(for: sandbox.request(), to: file)
    }
    #expect(error?.code == .networkConnectionLost)
    let left = try await sandbox.cache.unfinishedDownloads(in: sandbox.folder)
    #expect(left.map(\.file) == [file])
    #expect(left.first?.url == sandbox.origin.url("/a"))
    #expect(left.first?.expectedBytes == Self.body.count)
    #expect((1...1_000_000).contains(left.first?.receivedBytes ?? 0))
    let response = try await sandbox.cache.download(for: sandbox.request(), to: file)
    let metadata = try #require(response.metadata?.download)
    #expect(metadata.resumedBytes > 0)
    #expect(metadata.resumedBytes + metadata.receivedBytes == Self.body.count)
    #expect(metadata.file == file && metadata.expires == nil)
    #expect(response.statusCode == 200 && response.url == sandbox.origin.url("/a"))
    #expect(try [UInt8](Data(contentsOf: file)) == Self.body)
    #expect(sandbox.files == ["file"])
    #expect(try await sandbox.cache.unfinishedDownloads(in: sandbox.folder).isEmpty)
    let missing = sandbox.folder.appendingPathComponent("missing")
    #expect(try await sandbox.cache.unfinishedDownloads(in: missing).isEmpty)
  }

  @Test func `what was begun can be forgotten`() async throws {
    let sandbox = try sandbox(Server(cuts: [1_000_000]))
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try? await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(sandbox.files.count == 3)
    try await sandbox.cache.forgetDownload(to: file)
    #expect(sandbox.files.isEmpty)
  }

  @Test func `a small one that may be stored is in the cache, too`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("hello") }
    let file = sandbox.folder.appendingPathComponent("file")
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request())?.data == Data("hello".utf8))
    #expect(await text(sandbox.cache, sandbox.request()) == "hello")
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `until it expires the file is the answer, and without a network later, too`()
    async throws
  {
    let server = Server()
    let sandbox = try sandbox(server)
    let file = sandbox.folder.appendingPathComponent("file")
    // Nothing of it in the store, so that the file is what answers.
    var request = sandbox.request()
    request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
    let settings = DownloadSettings(expiresAfter: 100)
    let first = try await sandbox.cache.download(for: request, to: file, settings: settings)
    #expect(first.metadata?.freshness?.rounded() == 100 && first.metadata?.source == .network)
    sandbox.clock.advance(bySeconds: 99)
    let second = try await sandbox.cache.download(for: request, to: file, settings: settings)
    #expect(second.metadata?.source == .file && second.metadata?.freshness?.rounded() == 1)
    #expect(second.metadata?.age.rounded() == 99)
    #expect(second.metadata?.reason == "it was downloaded before, and has not expired")
    #expect(sandbox.origin.requests.count == 1)
    sandbox.clock.advance(bySeconds: 1)
    let third = try await sandbox.cache.download(for: request, to: file, settings: settings)
    #expect(third.metadata?.download?.source == .confirmed)
    sandbox.clock.advance(bySeconds: 1000)
    server.isDown.store(true, ordering: .relaxed)
    let fourth = try await sandbox.cache.download(for: request, to: file, settings: settings)
    #expect(fourth.metadata?.source == .file && fourth.metadata?.isStale == true)
    #expect(
      fourth.metadata?.reason.hasPrefix(
        "it was downloaded before, and the server could not be reached: ") == true)
    sandbox.cache.offlineMode = .always
    let fifth = try await sandbox.cache.download(for: request, to: file)
    #expect(fifth.metadata?.source == .file)
    sandbox.cache.offlineMode = .never
    await #expect(throws: URLError.self) {
      try await sandbox.cache.download(for: request, to: file)
    }
    #expect(try [UInt8](Data(contentsOf: file)) == Self.body)
  }

  @Test func `what is stored is held against the digest, too`() async throws {
    let sandbox = try sandbox(Server())
    _ = try await sandbox.cache.download(
      for: sandbox.request(), to: sandbox.folder.appendingPathComponent("first"))
    sandbox.cache.offlineMode = .always
    let file = sandbox.folder.appendingPathComponent("second")
    let right = try StatedDigest(.sha256, MessageDigest.of(Self.body, .sha256))
    let response = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: DownloadSettings(digest: right))
    #expect(response.metadata?.source != .file && response.metadata?.source != .network)
    sandbox.cache.offlineMode = .whenUnreachable
    let third = try await sandbox.cache.download(
      for: sandbox.request(), to: sandbox.folder.appendingPathComponent("third"),
      settings: DownloadSettings(digest: right))
    #expect(third.metadata?.source != .file && third.metadata?.source != .network)
    sandbox.cache.offlineMode = .always
    try FileManager.default.removeItem(at: file)
    let wrong = try StatedDigest(.sha256, MessageDigest.of([], .sha256))
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: DownloadSettings(digest: wrong))
    }
    #expect(error?.code == .cannotDecodeRawData)
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func `where what is stored has another digest, the server is asked`() async throws {
    let sandbox = try sandbox(Server())
    let response = try #require(
      HTTPURLResponse(
        url: sandbox.origin.url("/a"), statusCode: 200, httpVersion: "HTTP/1.1",
        headerFields: ["Cache-Control": "max-age=60"]))
    try sandbox.cache.store(
      CachedURLResponse(response: response, data: Data("old".utf8)), for: sandbox.request())
    let file = sandbox.folder.appendingPathComponent("file")
    let right = try StatedDigest(.sha256, MessageDigest.of(Self.body, .sha256))
    let answer = try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: DownloadSettings(digest: right))
    #expect(answer.metadata?.source == .network)
    #expect(try [UInt8](Data(contentsOf: file)) == Self.body)
  }

  @Test func `a started download refuses what it cannot send`() throws {
    let sandbox = try sandbox(Server())
    let file = sandbox.folder.appendingPathComponent("file")
    var search = sandbox.request()
    search.httpBody = Data("{}".utf8)
    var post = search
    post.httpMethod = "POST"
    for request in [search, post] {
      let error = #expect(throws: URLError.self) {
        try sandbox.cache.startDownload(for: request, to: file)
      }
      #expect(error?.code == .unsupportedURL)
    }
  }

  @Test func `a wrong digest is an error that says so`() async throws {
    let sandbox = try sandbox(Server())
    let file = sandbox.folder.appendingPathComponent("file")
    let wrong = try StatedDigest(.sha256, MessageDigest.of([], .sha256))
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.download(
        for: sandbox.request(), to: file, settings: DownloadSettings(digest: wrong))
    }
    #expect(error?.code == .cannotDecodeRawData)
    #expect(error?.cause is DownloadError)
    #expect(sandbox.files.isEmpty)
    let right = try StatedDigest(.sha256, MessageDigest.of(Self.body, .sha256))
    try await sandbox.cache.download(
      for: sandbox.request(), to: file, settings: DownloadSettings(digest: right))
    #expect(sandbox.files == ["file"])
  }

  @Test func `a Progress follows, pauses and cancels`() async throws {
    let sandbox = try sandbox(Server())
    let file = sandbox.folder.appendingPathComponent("file")
    let download = try sandbox.cache.startDownload(for: sandbox.request(), to: file)
    let progress = download.makeProgress()
    let response = try await download.value()
    #expect(response.metadata?.download?.file == file && response.statusCode == 200)
    await eventually { progress.completedUnitCount >= Int64(Self.body.count) }
    #expect(progress.totalUnitCount == Int64(Self.body.count))
    #expect(progress.isFinished)
    let other = try sandbox.cache.startDownload(
      for: sandbox.request("/b"), to: sandbox.folder.appendingPathComponent("other"))
    let handle = other.makeProgress()
    handle.cancel()
    let result = await Result { try await other.value() }
    // It may have been faster.
    if case .failure(let error as URLError) = result { #expect(error.code == .cancelled) }
  }

  @Test func `who cancels twice does not end the download of another`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { _ in
      gate.wait()
      return fresh("hello")
    }
    let file = sandbox.folder.appendingPathComponent("file")
    let first = try sandbox.cache.startDownload(for: sandbox.request(), to: file)
    let second = try sandbox.cache.startDownload(for: sandbox.request(), to: file)
    first.cancel()
    first.makeProgress().cancel()
    first.cancel()
    gate.signal()
    #expect(try await second.value().statusCode == 200)
  }

  @Test func `needsUpdate asks, and touches nothing`() async throws {
    let server = Server()
    let sandbox = try sandbox(server)
    let file = sandbox.folder.appendingPathComponent("file")
    let url = sandbox.origin.url("/a")
    #expect(try await sandbox.cache.needsUpdate(url))
    _ = try await sandbox.cache.download(from: url, to: file)
    #expect(try await !sandbox.cache.needsUpdate(url, file: file))
    _ = try await sandbox.cache.data(from: url)
    #expect(try await !sandbox.cache.needsUpdate(url))
    sandbox.origin.stop()
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.needsUpdate(url, timeout: 2)
    }
    #expect(error?.code == .cannotConnectToHost)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request())?.data == Data(Self.body))
    #expect(try [UInt8](Data(contentsOf: file)) == Self.body)
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}
