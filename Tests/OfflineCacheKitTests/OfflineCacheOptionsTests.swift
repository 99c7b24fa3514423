import LoopbackOrigin
import OfflineCacheKit
import Synchronization
import Testing

/// What a program can set with `import OfflineCacheKit` alone: no module below it is imported here.
@Suite(.timeLimit(.minutes(5))) struct OfflineCacheOptionsTests {
  @Test func `responses age by the clock of the options`() async throws {
    let folder = TemporaryFolder()
    let origin = try LoopbackOrigin { _ in fresh("hello", seconds: 100) }
    let clock = TestClock(SystemClock().now())
    var options = OfflineCacheOptions()
    options.clock = clock
    let cache = try OfflineCache(capacity: 16 << 20, directory: folder.url, options: options)
    defer {
      origin.stop()
      cache.store.close()
    }
    let request = URLRequest(url: origin.url("/a"))
    for (passed, source) in [(0, ResponseMetadata.Source.network), (90, .disk), (20, .network)] {
      clock.advance(bySeconds: Double(passed))
      let (_, response) = try await cache.data(for: request)
      let metadata = try #require(response.metadata)
      #expect(metadata.source == source || metadata.source == .memory && source == .disk)
      if source == .disk { #expect((90...91).contains(metadata.age)) }
    }
    #expect(origin.requests.count == 2)
  }

  /// What makes the answers of a network those of one user, below the rules.
  enum Identity: CaseIterable {
    case none, cookies, certificate
  }

  @Test(arguments: Identity.allCases, [false, true])
  func `a tier gets nothing of a network that servers know by cookies or a certificate`(
    _ identity: Identity, hasOwnTransport: Bool
  ) async throws {
    let folder = TemporaryFolder()
    let origin = try LoopbackOrigin { _ in fresh("hello") }
    let tier = try LoopbackOrigin { _ in OriginAnswer("", status: 404) }
    var options = OfflineCacheOptions()
    let remote = RemoteCache(
      options: try RemoteCacheOptions(
        servers: [try RemoteServer(tier.url("/").absoluteString)],
        secret: Array("0123456789abcdef".utf8)),
      transport: try CurlTransport(NetworkSetup()))
    options.remote = remote
    var network = NetworkSetup(keepsCookies: identity == .cookies)
    if identity == .certificate {
      network.clientCertificate = ClientCertificate(certificateFile: "/none.pem")
    }
    if !hasOwnTransport { options.network = network }
    let cache =
      hasOwnTransport
      ? try OfflineCache(
        capacity: 16 << 20, directory: folder.url, options: options,
        transport: try CurlTransport(network))
      : try OfflineCache(capacity: 16 << 20, directory: folder.url, options: options)
    let (data, _) = try await cache.data(for: URLRequest(url: origin.url("/a")))
    #expect(data == Data("hello".utf8))
    cache.store.close()
    await remote.drain()
    #expect(tier.requests.isEmpty == (identity != .none))
    origin.stop()
    tier.stop()
  }
}
