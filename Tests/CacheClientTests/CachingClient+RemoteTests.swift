import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import ClientTesting
import HTTPCaching
import HTTPSemantics
import HTTPTransports
import RemoteTier
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheClient

/// A server whose answers wait for a gate.
private struct GatedServer: HTTPTransport {
  let server = MemoryServer()
  let isAsked = Gate()
  let gate = Gate()

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    isAsked.open()
    _ = await gate.pass()
    return try await server.send(request, body: body, options: options, onInterim: onInterim)
  }
}

/// A clock that is ten minutes ahead.
private struct LaterClock: WallClock {
  func now() -> Int64 { SystemClock().now() + 600_000_000_000 }
}

/// Several machines that share a tier.
@Suite(.timeLimit(.minutes(5)))
struct CachingClientRemoteTests {
  private func answer(_ body: [UInt8], _ fields: HTTPFields = fresh()) -> ScriptedTransport.Answer {
    ScriptedTransport.Answer(body.isEmpty ? [] : [body], fields: fields)
  }

  @Test(
    "what one machine has fetched, another one gets without the origin",
    arguments: [0, 1, 4096, 4097, 65_536, 65_537, 3_000_000])
  func remoteHit(length: Int) async throws {
    let body = content(length)
    let origin = ScriptedTransport(answer(body, fresh(tag: "a")))
    let server = MemoryServer(isBazel: true)
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    let first = try await one.fetch(request())
    #expect(first.bytes == body)
    #expect(first.status == "OfflineCache; fwd=uri-miss; stored; detail=\"remote-absent\"")
    let second = try await two.fetch(request())
    #expect(second.bytes == body)
    #expect(second.status.contains("; hit; ") && second.status.contains("detail=\"remote-hit\""))
    #expect(try await two.fetch(request()).status == "OfflineCache; hit; ttl=1000")
    #expect(origin.requests.count == 1)
    #expect(two.tier.statistics.offersStored == 0, "what came from the tier is not offered")
  }

  @Test("requests at once share a look-up")
  func sharedLookUp() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    try await TierMachine(origin, server).fetch(request())
    let two = try TierMachine(origin, server)
    try await two.tier.refreshPurges()
    server.clearLog()
    await withTaskGroup(of: [UInt8]?.self) { group in
      for _ in 0..<20 {
        group.addTask { try? await two.client.data(for: request()).bytes }
      }
      for await bytes in group { #expect(bytes == [1]) }
    }
    // One for the document, and perhaps one for the purge list.
    let documents = Dictionary(
      grouping: server.requests.map(\.url.target).filter { $0.contains("/ac/") }, by: { $0 })
    #expect(documents.values.allSatisfy { $0.count == 1 })
    #expect(origin.requests.count == 1)
  }

  @Test("what was stored while the tier was asked is used, and the origin not asked again")
  func storedMeanwhile() async throws {
    let origin = ScriptedTransport(answer([1]))
    let tier = GatedServer()
    let machine = try TierMachine(origin, tier, mode: .read)
    let asking = Task { try await machine.client.data(for: request()) }
    #expect(await tier.isAsked.pass())
    let other = CachingClient(
      store: machine.sandbox.store, transport: origin, options: ClientOptions(),
      clock: machine.sandbox.clock)
    #expect(try await other.data(for: request()).bytes == [1])
    tier.gate.open()
    let status = try await asking.value.response.cacheStatus
    #expect(status.description == "OfflineCache; hit; ttl=1000")
    #expect(origin.requests.count == 1)
  }

  @Test("variants follow Vary on each machine")
  func variants() async throws {
    let origin = ScriptedTransport { request in
      let value = request.fields.first(named: "X-Kind")?.text ?? "-"
      return .success(ScriptedTransport.Answer(value, fields: fresh(vary: "X-Kind")))
    }
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    let (a, b) = (
      request("/v", [HTTPField("X-Kind", "a")]), request("/v", [HTTPField("X-Kind", "b")])
    )
    try await one.fetch(a)
    let other = try await two.fetch(b)
    #expect(other.bytes == Array("b".utf8) && other.status.contains("remote-no-variant"))
    #expect(try await two.fetch(a).status.contains("remote-hit"))
    #expect(try await one.fetch(b).status.contains("remote-hit"))
    #expect(origin.requests.count == 2)
  }

  @Test(
    "answers for one user, and those that do not say what a URL stands for, are not shared",
    arguments: [
      (200, "Cache-Control: private, max-age=100", ""), (200, "Set-Cookie: a=b", ""),
      (200, "Cache-Control: no-store", ""), (200, "Vary: Cookie", ""),
      (200, "Vary: Authorization", ""), (200, "Vary: *", ""), (302, "Location: /b", ""),
      (500, "", ""), (200, "", "Cookie: a=b"), (200, "", "Authorization: Basic eDp5"),
      (200, "Cache-Control: private=\"x\"", ""), (203, "Set-Cookie: a=b", ""),
    ])
  func notShared(status: Int, field: String, requestField: String) async throws {
    func parsed(_ line: String) -> HTTPFields {
      let parts = line.split(separator: ":", maxSplits: 1)
      return parts.count == 2 ? [HTTPField(String(parts[0]), parts[1].dropFirst().description)] : []
    }
    var answer = answer([1], fresh())
    answer.status = status
    answer.fields.append(contentsOf: Array(parsed(field)))
    let origin = ScriptedTransport(answer)
    let server = MemoryServer()
    let machine = try TierMachine(origin, server)
    _ = await machine.sandbox.outcome(
      request("/a", parsed(requestField)), FetchOptions(maximumRedirects: 0))
    await machine.client.waitForBackground()
    #expect(!server.log.contains { $0.hasPrefix("PUT") })
  }

  /// An origin whose answer is fresh for 100 seconds, and has not changed when it is validated.
  private func validatingOrigin() -> ScriptedTransport {
    ScriptedTransport { request in
      let isValid = request.fields.contains("If-None-Match")
      return .success(
        isValid
          ? ScriptedTransport.Answer("", status: 304, fields: fresh(100, tag: "a"))
          : ScriptedTransport.Answer("x", fields: fresh(100, tag: "a")))
    }
  }

  @Test("a 304 rewrites the document, and other machines need not ask the origin")
  func validation() async throws {
    let origin = validatingOrigin()
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    try await one.fetch(request())
    try await two.fetch(request())
    for machine in [one, two] { machine.sandbox.clock.advance(bySeconds: 200) }
    #expect(try await one.fetch(request()).status.contains("fwd-status=304"))
    let status = try await two.fetch(request()).status
    #expect(status.contains("detail=\"remote-hit\""), "\(status)")
    #expect(origin.requests.count == 2)
  }

  @Test("a stale document is stored, and validated with the origin")
  func stale() async throws {
    let origin = validatingOrigin()
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    try await one.fetch(request())
    two.sandbox.clock.advance(bySeconds: 200)
    let (bytes, status) = try await two.fetch(request())
    #expect(bytes == Array("x".utf8))
    #expect(status.contains("fwd=stale; fwd-status=304"), "\(status)")
    #expect(status.contains("remote-stale"))
  }

  @Test("wrong bytes are a miss, and the origin gives the right ones")
  func wrongBytes() async throws {
    for length in [5_000, 300_000] {
      let body = content(length)
      let origin = ScriptedTransport(answer(body))
      let server = MemoryServer()
      let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
      try await one.fetch(request())
      server.change("cas") { Array($0.reversed()) }
      let (bytes, status) = try await two.fetch(request())
      #expect(bytes == body && status.contains("remote-wrong-bytes"))
      #expect(two.sandbox.staged == [])
    }
  }

  @Test("a machine whose clock is a day off validates, or asks the origin", arguments: [-1, 1])
  func clocks(days: Int64) async throws {
    let origin = ScriptedTransport(answer([1], fresh(1000, tag: "a")))
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    one.sandbox.clock.advance(bySeconds: days * 86_400)
    try await one.fetch(request())
    let (bytes, status) = try await two.fetch(request())
    #expect(bytes == [1])
    #expect(status.contains(days > 0 ? "remote-clock" : "remote-stale"), "\(status)")
    #expect(origin.requests.count == 2)
  }

  @Test("an unsafe request makes the shared answer invalid, too")
  func unsafeRequest() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    try await one.fetch(request())
    origin.answer(answer([2]))
    try await one.fetch(request(method: "POST"))
    #expect(try await one.fetch(request()).bytes == [2])
    #expect(try await two.fetch(request()).bytes == [2])
  }

  @Test("offline, the tier is asked only where that is allowed", arguments: [true, false])
  func offline(isAllowed: Bool) async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    try await TierMachine(origin, server).fetch(request())
    let two = try TierMachine(origin, server, offline: isAllowed)
    let outcome = await two.sandbox.outcome(request(), FetchOptions(policy: .offline))
    #expect(outcome.bytes == (isAllowed ? [1] : []))
    #expect(origin.requests.count == 1)
  }

  @Test("a reload does not ask the tier, and a validation asks the origin, too")
  func policies() async throws {
    let origin = ScriptedTransport(answer([1], fresh(tag: "a")))
    let server = MemoryServer()
    try await TierMachine(origin, server).fetch(request())
    let two = try TierMachine(origin, server)
    #expect(try await !two.fetch(request(), .reload).status.contains("remote"))
    #expect(origin.requests.count == 2)
    let three = try TierMachine(origin, server)
    #expect(try await three.fetch(request(), .revalidate).status.contains("remote-stale"))
    #expect(origin.requests.count == 3)
    #expect(origin.requests.last?.fields.contains("If-None-Match") == true)
  }

  @Test("purges remove what other machines have stored, also one that was away")
  func purges() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    for path in ["/a", "/b"] {
      try await one.fetch(request(path))
      try await two.fetch(request(path))
    }
    // Another machine purges, and a third one begins with the store of the second.
    let third = RemoteCache(options: two.tier.options, transport: server)
    try await third.purge(.key(one.client.key(of: request("/a"))))
    var options = ClientOptions()
    options.remote = RemoteCache(options: two.tier.options, transport: server)
    let late = CachingClient(
      store: two.sandbox.store, transport: origin, options: options, clock: two.sandbox.clock)
    try await options.remote?.refreshPurges()
    #expect(two.sandbox.store.info(for: late.key(of: request("/a"))) == nil)
    #expect(two.sandbox.store.info(for: late.key(of: request("/b"))) != nil)
    // A purge is applied once.
    _ = try await late.data(for: request("/a"))
    await late.waitForBackground()
    options.remote = RemoteCache(options: two.tier.options, transport: server)
    let later = CachingClient(
      store: two.sandbox.store, transport: origin, options: options, clock: two.sandbox.clock)
    try await options.remote?.refreshPurges()
    #expect(two.sandbox.store.info(for: later.key(of: request("/a"))) != nil)
  }

  @Test("purges are applied although the store has used another tier since")
  func otherTier() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, otherServer) = (MemoryServer(), MemoryServer())
    // Its client reads another list: it goes on to follow it.
    let one = try TierMachine(origin, MemoryServer())
    try await one.fetch(request())
    let key = one.client.key(of: request())
    try await RemoteCache(options: one.tier.options, transport: server).purge(.key(key))
    let other = try TierMachine(origin, otherServer, base: "http://other.test/")
    try await other.tier.purge(.key("GET http://a.test/else"))
    for (tier, server) in [(other.tier, otherServer), (one.tier, server)] {
      #expect(one.sandbox.store.info(for: key) != nil)
      var options = ClientOptions()
      options.remote = RemoteCache(options: tier.options, transport: server)
      let client = CachingClient(
        store: one.sandbox.store, transport: origin, options: options, clock: one.sandbox.clock)
      try await options.remote?.refreshPurges()
      await client.waitForBackground()
    }
    #expect(one.sandbox.store.info(for: key) == nil)
  }

  @Test("a purge of servers that are new to a store leaves what was stored later")
  func newServers() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let one = try TierMachine(origin, MemoryServer(), store: Options(clock: LaterClock()))
    let other = try TierMachine(origin, server, base: "http://other.test/")
    try await other.tier.purge(.everything)
    try await one.fetch(request())
    var options = ClientOptions()
    options.remote = RemoteCache(options: other.tier.options, transport: server)
    let client = CachingClient(
      store: one.sandbox.store, transport: origin, options: options, clock: one.sandbox.clock)
    try await options.remote?.refreshPurges()
    await client.waitForBackground()
    #expect(one.sandbox.store.info(for: one.client.key(of: request())) != nil)
  }

  @Test("a purge that failed is applied again")
  func failedPurge() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let files = FaultyFiles()
    let (one, two) = (
      try TierMachine(origin, server),
      try TierMachine(origin, server, store: Options(fileSystem: files))
    )
    try await two.fetch(request())
    let key = two.client.key(of: request())
    try await one.tier.purge(.key(key))
    files.faults.set { $0.isChange ? SystemError(EIO) : nil }
    try await two.tier.refreshPurges()
    #expect(two.sandbox.store.info(for: key) != nil)
    files.faults.set(nil)
    await two.client.remotePurges?.applyKnown()
    #expect(two.sandbox.store.info(for: key) == nil)
  }

  @Test("purges that overlap with the first ones hide none of them from the store")
  func overlappingPurges() async throws {
    let origin = ScriptedTransport(answer([1]))
    let server = MemoryServer()
    let one = try TierMachine(origin, server)
    // The store has applied a purge of this tier, so from now on only newer ones are applied.
    try await one.tier.purge(.key("GET http://a.test/else"))
    try await one.fetch(request("/a"))
    let key = one.client.key(of: request("/a"))
    let older = one.tier.purgeList
    var first = older
    first.add(.key(key), number: older.newest + 1)
    var second = first
    second.add(.tag("t"), number: older.newest + 2)
    // Those of two servers are read at the same time when a process starts. The later ones overtake.
    server.setFault { _ in .failure(.timeout) }
    let late = try one.again(server, mode: .read)
    let purges = try #require(late.remotePurges)
    await purges.apply(second)
    await purges.apply(first)
    #expect(one.sandbox.store.info(for: key) == nil)
  }

  @Test("a purge that only one of two servers has is applied although newer ones were")
  func purgeOfOneServer() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, other) = (MemoryServer(), MemoryServer())
    let one = try TierMachine(origin, server)
    try await one.fetch(request())
    let key = one.client.key(of: request())
    // A process that reads one server has applied a purge with a higher number than that of the other.
    try await RemoteCache(options: one.tier.options, transport: other).purge(.key(key))
    try await one.tier.purge(.key(one.client.key(of: request("/else"))))
    #expect(one.sandbox.store.info(for: key) != nil)
    // The next process reads the other one.
    let late = try one.again(other, mode: .read)
    try await late.options.remote?.refreshPurges()
    #expect(one.sandbox.store.info(for: key) == nil)
    // It is applied once, and that of the first server is not applied again either.
    let again = [request(), request("/else")]
    for request in again {
      _ = try late.store([2], HTTPResponseHead(status: 200, fields: fresh()), for: request)
    }
    for server in [server, other] {
      let client = try one.again(server, mode: .read)
      try await client.options.remote?.refreshPurges()
      for request in again {
        #expect(one.sandbox.store.info(for: client.key(of: request)) != nil)
      }
    }
  }

  @Test("a purge that another process has applied is applied to what this one has stored since")
  func purgeOfAnotherProcess() async throws {
    let origin = ScriptedTransport(answer([1]))
    let (server, other) = (MemoryServer(), MemoryServer())
    let one = try TierMachine(origin, server)
    let key = one.client.key(of: request())
    // It runs before there are purges, and reads none by itself.
    other.setFault { _ in .failure(.timeout) }
    let late = try one.again(other, mode: .read)
    let purges = try #require(late.remotePurges)
    await purges.applyKnown()
    try await one.tier.purge(.key(key))
    // It was requested before the purge.
    _ = try late.store([2], HTTPResponseHead(status: 200, fields: fresh()), for: request())
    await purges.apply(one.tier.purgeList)
    #expect(one.sandbox.store.info(for: key) == nil)
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
