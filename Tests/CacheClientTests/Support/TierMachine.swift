import ClientTesting

@testable import CacheClient

/// A machine with a store of its own, one origin and one tier.
struct TierMachine {
  let sandbox: ClientSandbox
  let tier: RemoteCache

  var client: CachingClient { sandbox.client }

  init(
    _ origin: ScriptedTransport, _ server: any HTTPTransport, base: String = "http://cache.test/",
    role: CacheRules.Role = .privateCache, mode: RemoteMode = .both, offline: Bool = false,
    store: Options = Options()
  ) throws {
    let options = try RemoteCacheOptions(
      servers: [try RemoteServer(base)], secret: Array("0123456789abcdef".utf8),
      mode: mode)
    tier = RemoteCache(options: options, transport: server)
    var clientOptions = ClientOptions(rules: CacheRules(role: role))
    clientOptions.remote = tier
    clientOptions.asksRemoteOffline = offline
    sandbox = try ClientSandbox(origin, clientOptions, store: store)
  }

  /// Makes another client on the same store, with another mode.
  func again(_ server: MemoryServer, mode: RemoteMode) throws -> CachingClient {
    var options = ClientOptions()
    options.remote = RemoteCache(
      options: try RemoteCacheOptions(
        servers: tier.options.servers, secret: Array("0123456789abcdef".utf8), mode: mode),
      transport: server)
    return CachingClient(
      store: sandbox.store, transport: sandbox.transport, options: options, clock: sandbox.clock)
  }

  /// Fetches, reads to the end, and waits until the answer is offered.
  ///
  /// - Returns: the body, and the value of `Cache-Status`.
  @discardableResult
  func fetch(
    _ request: HTTPRequest, _ policy: CachePolicy = .protocolRules
  ) async throws -> (bytes: [UInt8], status: String) {
    let (bytes, response) = try await client.data(
      for: request, options: FetchOptions(policy: policy))
    await client.waitForBackground()
    return (bytes, response.cacheStatus.description)
  }
}

func answer(_ body: [UInt8], _ fields: HTTPFields = fresh()) -> ScriptedTransport.Answer {
  ScriptedTransport.Answer(body.isEmpty ? [] : [body], fields: fields)
}

/// Returns the field in a line, or none of an empty one.
func parsed(_ line: String) -> HTTPFields {
  let parts = line.split(separator: ":", maxSplits: 1)
  return parts.count == 2 ? [HTTPField(String(parts[0]), parts[1].dropFirst().description)] : []
}
