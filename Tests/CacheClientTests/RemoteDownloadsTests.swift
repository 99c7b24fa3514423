import ClientTesting
import MessageDigests
import Testing

@testable import CacheClient

/// Downloads that share a tier, although they bypass the store.
@Suite(.timeLimit(.minutes(5)))
struct RemoteDownloadsTests {
  private func tier(_ server: MemoryServer) throws -> RemoteCache {
    RemoteCache(
      options: try RemoteCacheOptions(
        servers: [try RemoteServer("http://cache.test/")],
        secret: Array("0123456789abcdef".utf8)), transport: server)
  }

  /// Downloads a file on a machine of its own; returns its bytes, and whether they are of the tier.
  @discardableResult
  private func download(
    _ origin: any HTTPTransport, _ server: MemoryServer, _ fields: HTTPFields = [],
    asksTier: Bool = true, digest: StatedDigest? = nil
  ) async throws -> (bytes: [UInt8]?, isFound: Bool, tier: RemoteCache) {
    let sandbox = DownloadSandbox()
    let tier = try tier(server)
    let shared = RemoteDownloads(tier, over: origin, asksTier: asksTier, clock: sandbox.clock)
    let downloader = Downloader(
      transport: shared,
      options: DownloaderOptions(maximumRetries: 2, retryDelay: .milliseconds(1)),
      clock: sandbox.clock
    ) { shared.offer($0) }
    var asked = DownloadRequest(request("/big", fields), to: sandbox.path())
    asked.digest = digest
    let file = try await downloader.download(asked)
    await tier.drain()
    #expect(sandbox.names == [".json", "file"])
    return (sandbox.bytes(), shared.hasFound(file.record.answeredBy), tier)
  }

  private func server(_ bytes: [UInt8], _ fields: HTTPFields = fresh()) -> FileServer {
    FileServer(bytes, faults: Array(repeating: FileServer.Fault(fields: fields), count: 9))
  }

  @Test(
    "what one machine has downloaded, another one gets from the tier",
    arguments: [0, 1, 4096, 4097, 3_000_000])
  func shared(length: Int) async throws {
    let (origin, server) = (server(content(length)), MemoryServer(isBazel: true))
    let first = try await download(origin, server)
    #expect(first.bytes == content(length) && !first.isFound)
    #expect(first.tier.statistics.offersStored == 1)
    let second = try await download(origin, server)
    #expect(second.bytes == content(length) && second.isFound)
    #expect(second.tier.statistics.offersStored == 0, "what came from the tier is not offered")
    #expect(origin.requests.count == 1)
  }

  @Test("a file that started over is not offered with the head of the first answer")
  func startedOver() async throws {
    let private2: HTTPFields = [HTTPField("Cache-Control", "private"), HTTPField("ETag", "\"2\"")]
    let origin = FileServer(
      content(600_000),
      faults: [
        FileServer.Fault(fields: fresh(tag: "1"), cut: 300_000),
        FileServer.Fault(fields: private2, ignoresRange: true),
      ])
    let (bytes, isFound, tier) = try await download(origin, MemoryServer())
    #expect(bytes == content(600_000) && !isFound && origin.requests.count == 2)
    #expect(tier.statistics.offersStored == 0)
  }

  @Test("a client and a downloader share the same documents")
  func withClient() async throws {
    let body = content(5_000)
    let origin = ScriptedTransport(ScriptedTransport.Answer([body], fields: fresh(tag: "1")))
    let memory = MemoryServer()
    try await TierMachine(origin, memory).fetch(request("/big"))
    let file = server(body)
    #expect(try await download(file, memory).isFound)
    #expect(file.requests.isEmpty)
    let other = MemoryServer()
    try await download(file, other)
    #expect(try await TierMachine(origin, other).fetch(request("/big")).bytes == body)
    #expect(origin.requests.count == 1)
  }

  @Test(
    "what must not be shared, or is not fresh, is not",
    arguments: [
      ("Cache-Control: private, max-age=100", ""), ("Cache-Control: no-store", ""),
      ("Cache-Control: max-age=0", ""), ("Set-Cookie: a=b", ""), ("", "Cookie: a=b"),
      ("", "Authorization: Basic eDp5"), ("", "Cache-Control: no-cache"),
    ])
  func notShared(field: String, requestField: String) async throws {
    var fields = fresh()
    for field in parsed(field) { fields.replace(with: field) }
    let (origin, memory) = (server(content(9), fields), MemoryServer())
    for _ in 0..<2 {
      #expect(try await !download(origin, memory, parsed(requestField)).isFound)
    }
    #expect(origin.requests.count == 2)
  }

  @Test("the file of another host at the same URL has no place in the tier")
  func otherHost() async throws {
    let other: HTTPFields = [HTTPField("Host", "b.example")]
    let (origin, memory) = (server(content(9)), MemoryServer())
    for fields in [other, [], other] {
      #expect(try await !download(origin, memory, fields).isFound)
    }
    #expect(origin.requests.count == 3)
    #expect(try await download(origin, memory, [HTTPField("Host", "example.com")]).isFound)
  }

  @Test("a file of the tier that has not the wanted digest is fetched from the origin, once")
  func olderContent() async throws {
    let (new, memory) = (content(5_000, seed: 2), MemoryServer())
    try await download(server(content(9)), memory)
    let origin = server(new)
    let right = try StatedDigest(.sha256, MessageDigest.of(new, .sha256))
    let file = try await download(origin, memory, digest: right)
    #expect(file.bytes == new && !file.isFound && origin.requests.count == 1)
    let wrong = try StatedDigest(.sha256, MessageDigest.of([], .sha256))
    let error = await #expect(throws: DownloadError.self) {
      try await download(origin, memory, digest: wrong)
    }
    #expect(error?.cause == .wrongDigest(expected: wrong, actual: right))
    #expect(origin.requests.count == 2)
  }

  @Test("no wrong byte gets into a file", arguments: [5_000, 3_000_000], [true, false])
  func wrongBytes(length: Int, hasTag: Bool) async throws {
    var fields = fresh()
    if !hasTag {
      for name in ["ETag", "Last-Modified"] { fields.append(HTTPField(name, "")) }
    }
    for change in [
      MemoryServer.Fault.change { [$0[0] ^ 1] + $0.dropFirst() },
      .change { $0.dropLast() + [$0[$0.count - 1] ^ 1] }, .change { Array($0.dropLast()) },
      .change { $0 + [1] }, .cut(length / 2), .status(404), .failure(.timeout),
    ] {
      let (origin, memory) = (server(content(length), fields), MemoryServer())
      try await download(origin, memory)
      memory.setFault { $0.method == .get && $0.url.target.contains("/cas/") ? change : nil }
      let file = try await download(origin, memory)
      #expect(file.bytes == content(length) && !file.isFound)
    }
  }

  @Test("a download that begins again or refreshes looks nothing up, and is offered")
  func asking() async throws {
    let (origin, memory) = (server(content(9)), MemoryServer())
    for _ in 0..<2 {
      let file = try await download(origin, memory, asksTier: false)
      #expect(!file.isFound && file.tier.statistics.offersStored == 1)
    }
    #expect(origin.requests.count == 2)
  }
}
