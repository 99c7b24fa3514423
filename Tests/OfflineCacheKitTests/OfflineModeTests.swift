import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineModeTests {
  @Test func `what asks a server whatever is stored is refused in the mode always`() async throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions()) { _ in OriginAnswer("hello") }
    let file = sandbox.folder.appendingPathComponent("file")
    sandbox.cache.offlineMode = .always
    #expect(throws: URLError.self) {
      try sandbox.cache.startDownload(for: sandbox.request(), to: file)
    }
    await #expect(throws: URLError.self) {
      try await sandbox.cache.needsUpdate(sandbox.origin.url("/a"))
    }
    sandbox.cache.offlineMode = .never
    #expect(throws: URLError.self) {
      try sandbox.cache.startDownload(
        for: sandbox.request("/a", .returnCacheDataDontLoad), to: file)
    }
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test func `always offline never asks the network, whatever the policy and the age`() async throws
  {
    let sandbox = try FaceSandbox { _ in fresh("x", seconds: 1, ["Cache-Control: no-cache"]) }
    #expect(await text(sandbox.cache, sandbox.request()) == "x")
    sandbox.clock.advance(bySeconds: 100_000)
    sandbox.cache.offlineMode = .always
    for policy in [URLRequest.CachePolicy.useProtocolCachePolicy, .reloadIgnoringLocalCacheData] {
      #expect(await text(sandbox.cache, sandbox.request("/a", policy)) == "x")
    }
    let absent = "\(URLError.notConnectedToInternet.rawValue)"
    #expect(await text(sandbox.cache, sandbox.request("/b")) == absent)
    var post = sandbox.request()
    post.httpMethod = "POST"
    #expect(await text(sandbox.cache, post) == absent)
    #expect(sandbox.origin.requests.count == 1)
    sandbox.cache.offlineMode = .never
    #expect(await text(sandbox.cache, sandbox.request("/b")) == "x")
  }

  private static let unreached =
    "it is stored, and the server could not be reached: no connection can be made"

  @Test func `what the history has is used because the server could not be reached`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("x", seconds: 60, ["Vary: *"]) }
    #expect(await text(sandbox.cache, sandbox.request()) == "x")
    sandbox.origin.stop()
    for mode in [OfflineMode.never, .whenUnreachable] {
      sandbox.cache.offlineMode = mode
      let (_, response) = try await sandbox.cache.data(for: sandbox.request())
      #expect(response.metadata?.reason == Self.unreached)
      #expect(response.metadata?.isStale == true)
    }
  }

  @Test func `why the server could not be asked is reported in words`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("x", seconds: 1) }
    _ = try await sandbox.cache.data(for: sandbox.request())
    sandbox.clock.advance(bySeconds: 100)
    sandbox.origin.stop()
    sandbox.cache.offlineMode = .never
    let (_, response) = try await sandbox.cache.data(for: sandbox.request())
    #expect(response.metadata?.reason == Self.unreached)
    #expect(response.metadata?.cacheStatus.contains("origin-cannotConnect") == true)
  }

  @Test func `without a connection what must be validated answers only if the user says so`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      request.target == "/strict"
        ? fresh("strict", seconds: 1, ["Cache-Control: must-revalidate"])
        : fresh("plain", seconds: 1)
    }
    let strict = sandbox.request("/strict")
    sandbox.cache.offlineMode = .never
    #expect(await text(sandbox.cache, strict) == "strict")
    #expect(await text(sandbox.cache, sandbox.request("/plain")) == "plain")
    sandbox.clock.advance(bySeconds: 100)
    sandbox.origin.stop()
    let failure = "\(URLError.cannotConnectToHost.rawValue)"
    // What HTTP itself allows to a cache that is cut off.
    #expect(await text(sandbox.cache, sandbox.request("/plain")) == "plain")
    #expect(await text(sandbox.cache, strict) == failure)

    sandbox.cache.offlineMode = .whenUnreachable
    let (data, response) = try await sandbox.cache.data(for: strict)
    #expect(data == Data("strict".utf8))
    #expect(response.metadata?.isStale == true)
    #expect(response.metadata?.reason == Self.unreached)
    #expect(await text(sandbox.cache, sandbox.request("/absent")) == failure)
    // Who reloads wants the origin by name.
    let reload = sandbox.request("/strict", .reloadIgnoringLocalCacheData)
    #expect(await text(sandbox.cache, reload) == failure)
  }

  @Test func `a body that breaks off is stood in for by the one that is stored`() async throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions(offlineMode: .whenUnreachable)) { request in
      request.value(of: "X-Cut") == nil
        ? fresh("whole", seconds: 1)
        : OriginAnswer("another", fields: ["Cache-Control: max-age=9"]).cut(after: 3)
    }
    #expect(await text(sandbox.cache, sandbox.request()) == "whole")
    sandbox.clock.advance(bySeconds: 10)
    var request = sandbox.request()
    request.setValue("1", forHTTPHeaderField: "X-Cut")
    #expect(await text(sandbox.cache, request) == "whole")
    sandbox.cache.offlineMode = .never
    #expect(await text(sandbox.cache, request) == "\(URLError.networkConnectionLost.rawValue)")
  }

  // printf hello | gzip -n
  private static let coded: [UInt8] = [
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
    0x36, 5, 0, 0, 0,
  ]

  /// A server that answers in gzip, cut for requests that have `X-Cut`.
  private static func codedSandbox(length: Int) throws -> FaceSandbox {
    try FaceSandbox { request in
      let bytes = coded.prefix(request.value(of: "X-Cut") == nil ? coded.count : length)
      let fields = ["Cache-Control: no-cache", "Content-Encoding: gzip"]
      return OriginAnswer(Array(bytes), fields: fields)
    }
  }

  @Test(arguments: [24, 17, 5])
  func `a body whose content coding is damaged is stood in for by the one that is stored`(
    length: Int
  ) async throws {
    let sandbox = try Self.codedSandbox(length: length)
    let (cache, file) = (sandbox.cache, sandbox.folder.appendingPathComponent("file"))
    var cut = sandbox.request()
    cut.setValue("1", forHTTPHeaderField: "X-Cut")
    let failure = "\(URLError.cannotDecodeContentData.rawValue)"
    #expect(await text(cache, cut) == failure)
    #expect(await text(cache, sandbox.request()) == "hello")
    for _ in 0..<2 {
      let (data, response) = try await cache.data(for: cut)
      #expect(data == Data("hello".utf8) && response.metadata?.isStale == true)
      #expect(
        response.metadata?.reason
          == "it is stored, and the server's answer cannot be decoded: the gzip data is cut short")
    }
    let written = try await cache.download(for: cut, to: file)
    #expect(try Data(contentsOf: file) == Data("hello".utf8))
    #expect(written.metadata?.isStale == true)
    let result = await cache.prefetch([cut])
    #expect(result[0].response?.metadata?.isStale == true)
    // Bytes that the caller has cannot be exchanged.
    let (bytes, _) = try await cache.bytes(for: cut)
    await #expect(throws: URLError.self) { for try await _ in bytes {} }
    cut.cachePolicy = .reloadIgnoringLocalCacheData
    #expect(await text(cache, cut) == failure)
    cut.cachePolicy = .useProtocolCachePolicy
    cache.offlineMode = .never
    #expect(await text(cache, cut) == failure)
  }

  @Test func `a file stands in for an answer whose content coding is damaged`() async throws {
    let sandbox = try Self.codedSandbox(length: 17)
    let file = sandbox.folder.appendingPathComponent("file")
    try await sandbox.cache.download(for: sandbox.request(), to: file)
    try sandbox.cache.removeAll()
    var cut = sandbox.request()
    cut.setValue("1", forHTTPHeaderField: "X-Cut")
    let response = try await sandbox.cache.download(for: cut, to: file)
    #expect(response.metadata?.source == .file)
    #expect(response.metadata?.reason.hasSuffix("the gzip data is cut short") == true)
    #expect(try Data(contentsOf: file) == Data("hello".utf8))
  }
}
