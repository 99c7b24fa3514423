import ClientTesting
import MessageDigests
import Testing

@testable import CacheClient

/// The SHA-256 of bodies, which is computed once, where a tier is configured.
struct RemoteOffersTests {
  private func kept(_ machine: ClientSandbox, _ path: String = "/a") -> [UInt8]? {
    machine.store.info(for: machine.client.key(of: request(path)))?.metadata.bodySHA256
  }

  @Test(
    "the machine that stores a body keeps its SHA-256, and so do the others",
    arguments: [0, 100, 70_000, 3_000_000])
  func stored(length: Int) async throws {
    let body = content(length)
    let origin = ScriptedTransport(
      ScriptedTransport.Answer(body.isEmpty ? [] : [body], fields: fresh(tag: "a")))
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    try await one.fetch(request())
    try await two.fetch(request())
    let digest = MessageDigest.of(body, .sha256)
    #expect(kept(one.sandbox) == digest && kept(two.sandbox) == digest)
    #expect(two.tier.statistics.hits == 1)
  }

  @Test("without a tier, in the mode read, and for answers that are not shared, there is none")
  func none() async throws {
    let origin = ScriptedTransport { request in
      let isPrivate = request.url.target == "/private"
      return .success(
        ScriptedTransport.Answer(
          "x",
          fields: isPrivate
            ? [HTTPField("Cache-Control", "private, max-age=9")] : fresh(vary: "X-Kind")))
    }
    let plain = try ClientSandbox(origin)
    _ = await plain.outcome(request())
    let reader = try TierMachine(origin, MemoryServer(), mode: .read)
    try await reader.fetch(request())
    let both = try TierMachine(origin, MemoryServer())
    try await both.fetch(request("/private"))
    #expect(kept(plain) == nil && kept(reader.sandbox) == nil)
    #expect(both.sandbox.store.statistics.entries == 1 && kept(both.sandbox, "/private") == nil)
  }

  @Test("the answer to a request with a possible credential is offered only if its fields allow it")
  func credential() async throws {
    let origin = ScriptedTransport { request in
      let isPublic = request.url.target == "/public"
      let control = isPublic ? "public, max-age=1000" : "max-age=1000"
      return .success(
        ScriptedTransport.Answer("x", fields: [HTTPField("Cache-Control", control)]))
    }
    let (server, key) = (MemoryServer(), HTTPField("X-Api-Key", "k"))
    let machine = try TierMachine(origin, server)
    for path in ["/a", "/public"] { try await machine.fetch(request(path, [key])) }
    #expect(try await machine.client.offerStored(prefix: "GET ") == (1, 1))
    for path in ["/a", "/public"] {
      let answer = try await TierMachine(origin, server).fetch(request(path))
      #expect(answer.status.contains("remote-hit") == (path == "/public"), "\(answer.status)")
    }
    // It answers the same machine.
    let count = origin.requests.count
    try await machine.fetch(request("/a", [key]))
    #expect(origin.requests.count == count)
  }

  @Test("a 304 keeps it, and an offer of what was stored before there was a tier adds it")
  func later() async throws {
    let origin = ScriptedTransport { request in
      let isValid = request.fields.contains("If-None-Match")
      return .success(
        ScriptedTransport.Answer(
          [content(isValid ? 0 : 70_000)].filter { !$0.isEmpty }, status: isValid ? 304 : 200,
          fields: fresh(100, tag: "a")))
    }
    let server = MemoryServer()
    let machine = try TierMachine(origin, server, mode: .read)
    try await machine.fetch(request())
    #expect(kept(machine.sandbox) == nil)
    let writer = try machine.again(server, mode: .both)
    let offered = try await writer.offerStored(prefix: "GET ")
    #expect(offered.offered == 1)
    let digest = MessageDigest.of(content(70_000), .sha256)
    #expect(kept(machine.sandbox) == digest)
    machine.sandbox.clock.advance(bySeconds: 200)
    _ = try await writer.data(for: request())
    await writer.waitForBackground()
    #expect(origin.requests.count == 2 && kept(machine.sandbox) == digest)
  }

  @Test("stored responses can be offered later, except those that must not be shared")
  func pushing() async throws {
    let origin = ScriptedTransport { request in
      let fields: HTTPFields =
        request.url.target == "/c" ? [HTTPField("Cache-Control", "private, max-age=9")] : fresh()
      return .success(ScriptedTransport.Answer("x", fields: fields))
    }
    let server = MemoryServer()
    let plain = try TierMachine(origin, server, mode: .read)
    for path in ["/a", "/b", "/c"] { try await plain.fetch(request(path)) }
    var options = ClientOptions()
    options.remote = RemoteCache(
      options: try RemoteCacheOptions(
        servers: plain.tier.options.servers, secret: Array("0123456789abcdef".utf8)),
      transport: server)
    let client = CachingClient(
      store: plain.sandbox.store, transport: origin, options: options, clock: plain.sandbox.clock)
    let result = try await client.offerStored(prefix: "GET http://example.com/")
    #expect(result == (2, 1))
    let other = try TierMachine(origin, server)
    #expect(try await other.fetch(request("/b")).status.contains("remote-hit"))
  }
}
