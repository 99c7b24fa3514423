import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5))) struct ReachabilityModeTests {
  private let network = ManualReachability(.free)
  private let transport = CountingTransport()

  private func sandbox(
    spares: Bool = false, transport: CountingTransport? = nil
  ) throws -> FaceSandbox {
    var options = OfflineCacheOptions(reachability: network)
    // Not that of the transport.
    options.network.proxy = .url("http://192.168.7.1:3128")
    options.sparesConstrainedNetworks = spares
    return try FaceSandbox(options, transport: transport ?? self.transport)
  }

  private func request(
    _ path: String, _ policy: URLRequest.CachePolicy = .useProtocolCachePolicy,
    host: String = "example.com"
  ) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "http://\(host)\(path)")), cachePolicy: policy)
  }

  @Test func `the default is to answer from the store when there is no network`() {
    #expect(OfflineCacheOptions().offlineMode == .whenUnreachable)
    #expect(OfflineCacheOptions().reachability === SystemReachability.shared)
  }

  @Test func `without a network what is stored answers at once, however old and strict`()
    async throws
  {
    let sandbox = try sandbox()
    for path in ["/a", "/strict"] { _ = try await sandbox.cache.data(for: request(path)) }
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(NetworkState(.none, reason: "the cable is out"))
    for path in ["/a", "/strict"] {
      let (data, response) = try await sandbox.cache.data(for: request(path))
      #expect(data == Data("answer 1".utf8))
      #expect(response.metadata?.isStale == true)
      #expect(
        response.metadata?.reason
          == "it is stored, and there is no network: the cable is out")
    }
    #expect(transport.count == 2)

    network.set(.free)
    #expect(try await sandbox.cache.data(for: request("/a")).1.metadata?.source == .network)
    #expect(transport.count == 3)
  }

  @Test func `without a network a file of before is used at once, unless the origin is asked for`()
    async throws
  {
    let sandbox = try sandbox()
    let file = sandbox.folder.appendingPathComponent("file")
    try await sandbox.cache.download(for: request("/a"), to: file)
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(NetworkState(.none, reason: "the cable is out"))
    let response = try await sandbox.cache.download(for: request("/a"), to: file)
    #expect(response.metadata?.source == .file && transport.count == 1)
    #expect(
      response.metadata?.reason
        == "it was downloaded before, and there is no network: the cable is out")
    #expect(response.metadata?.isStale == true)
    try await sandbox.cache.download(
      for: request("/a", .reloadRevalidatingCacheData), to: file)
    #expect(transport.count == 2)
  }

  @Test func `a constrained network is spared in each download of what is stored`() async throws {
    let sandbox = try sandbox(spares: true)
    let file = sandbox.folder.appendingPathComponent("file")
    _ = try await sandbox.cache.data(for: request("/a"))
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(NetworkState(.constrained, reason: "slow"))
    for description in ["it is stored", "it was downloaded before"] {
      let metadata = try await sandbox.cache.download(for: request("/a"), to: file).metadata
      #expect(metadata?.reason == "\(description), and the network is spared: slow")
      #expect(metadata?.isStale == true && transport.count == 1)
    }
  }

  @Test func `what is fresh is a plain hit, whatever the network`() async throws {
    let sandbox = try sandbox()
    _ = try await sandbox.cache.data(for: request("/a"))
    network.set(.none)
    let metadata = try await sandbox.cache.data(for: request("/a")).1.metadata
    #expect(metadata?.isStale == false)
    #expect(metadata?.reason.hasPrefix("it is stored, and fresh for") == true)
  }

  @Test func `what is not stored, and what asks for the origin, is tried nevertheless`()
    async throws
  {
    let sandbox = try sandbox()
    _ = try await sandbox.cache.data(for: request("/a"))
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(.none)
    _ = try await sandbox.cache.data(for: request("/b"))
    #expect(transport.count == 2)
    for policy in [
      URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadRevalidatingCacheData,
    ] {
      let before = transport.count
      _ = try await sandbox.cache.data(for: request("/a", policy))
      #expect(transport.count == before + 1)
    }
    var post = try request("/a")
    post.httpMethod = "POST"
    post.httpBody = Data("x".utf8)
    let before = transport.count
    _ = try await sandbox.cache.data(for: post)
    #expect(transport.count == before + 1)
  }

  @Test(arguments: ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9:8080", "[::1]"])
  func `servers on this machine are asked without a network`(host: String) async throws {
    let sandbox = try sandbox()
    network.set(.none)
    _ = try await sandbox.cache.data(for: request("/a", host: host))
    sandbox.clock.advance(bySeconds: 100_000)
    _ = try await sandbox.cache.data(for: request("/a", host: host))
    #expect(transport.count == 2)
  }

  /// No default route is needed to reach them.
  @Test(arguments: ["192.168.7.3", "printer", "nas.local", "example.com"])
  func `servers in the local network, and a proxy, are asked without a network`(host: String)
    async throws
  {
    let transport = CountingTransport(mayUseProxy: host == "example.com")
    let sandbox = try sandbox(transport: transport)
    network.set(.none)
    _ = try await sandbox.cache.data(for: request("/a", host: host))
    sandbox.clock.advance(bySeconds: 100_000)
    _ = try await sandbox.cache.data(for: request("/a", host: host))
    #expect(transport.count == 2)
  }

  @Test(arguments: ["127.example.com", "localhost.example.com", "notlocalhost", "128.0.0.1"])
  func `names that only look so are not on this machine`(host: String) throws {
    #expect(try !NormalizedURL("http://\(host)/").isLoopback)
  }

  @Test func `a constrained network is spared only where the user says so`() async throws {
    for spares in [false, true] {
      let sandbox = try sandbox(spares: spares)
      for path in ["/a", "/strict"] { _ = try await sandbox.cache.data(for: request(path)) }
      sandbox.clock.advance(bySeconds: 100_000)
      network.set(NetworkState(.constrained, reason: "wwan0 is a constrained link"))
      let before = transport.count
      let metadata = try await sandbox.cache.data(for: request("/a")).1.metadata
      #expect(transport.count == before + (spares ? 0 : 1))
      #expect(
        (metadata?.reason
          == "it is stored, and the network is spared: wwan0 is a constrained link") == spares)
      // What has to be validated is.
      let strict = transport.count
      _ = try await sandbox.cache.data(for: request("/strict"))
      #expect(transport.count == strict + 1)
      network.set(.free)
    }
  }

  @Test(arguments: [("Cache-Control", "no-cache"), ("Pragma", "no-cache")])
  func `a request whose fields ask for the origin is sent`(name: String, value: String) async throws
  {
    let sandbox = try sandbox(spares: true)
    _ = try await sandbox.cache.data(for: request("/a"))
    for quality in [NetworkQuality.constrained, .none] {
      network.set(NetworkState(quality, reason: "slow"))
      var request = try request("/a")
      request.setValue(value, forHTTPHeaderField: name)
      let before = transport.count
      #expect(try await sandbox.cache.data(for: request).1.metadata?.source == .network)
      #expect(transport.count == before + 1)
    }
  }

  @Test(arguments: [false, true])
  func `sparing the network, nothing is validated in the background`(spares: Bool) async throws {
    let sandbox = try sandbox(spares: spares)
    _ = try await sandbox.cache.data(for: request("/while"))
    sandbox.clock.advance(bySeconds: 1000)
    network.set(NetworkState(.constrained, reason: "slow"))
    for _ in 1...2 { _ = try await sandbox.cache.data(for: request("/while")) }
    await sandbox.cache.client.waitForBackground()
    #expect((transport.count == 1) == spares)
  }

  @Test func `the other modes do not ask whether there is a network`() async throws {
    let sandbox = try sandbox()
    _ = try await sandbox.cache.data(for: request("/a"))
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(.none)
    sandbox.cache.offlineMode = .never
    _ = try await sandbox.cache.data(for: request("/a"))
    #expect(transport.count == 2)
    sandbox.clock.advance(bySeconds: 100_000)
    network.set(.free)
    sandbox.cache.offlineMode = .always
    _ = try await sandbox.cache.data(for: request("/a"))
    #expect(transport.count == 2)
  }
}

/// Answers everything without a network, and counts.
private final class CountingTransport: HTTPTransport {
  private let requests = Mutex(0)
  let mayUseProxy: Bool

  init(mayUseProxy: Bool = false) { self.mayUseProxy = mayUseProxy }

  var count: Int { requests.withLock { $0 } }

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    requests.withLock { $0 += 1 }
    let more =
      switch request.url.target {
      case "/strict": ", must-revalidate"
      case "/while": ", stale-while-revalidate=100000"
      default: ""
      }
    return TransportResponse(
      head: HTTPResponseHead(
        status: 200, fields: [HTTPField("Cache-Control", "max-age=100\(more)")]),
      url: request.url, body: OneBody())
  }
}

private final class OneBody: TransportBody {
  private let pieces = Mutex([Array("answer 1".utf8)])

  var trailers: HTTPFields { [] }
  func next() async throws(TransportError) -> [UInt8]? { pieces.withLock { $0.popLast() } }
  func cancel() {}
}
