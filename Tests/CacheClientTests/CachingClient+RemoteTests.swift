import ClientTesting
import Testing

@testable import CacheClient

/// Several machines that share a tier.
@Suite(.timeLimit(.minutes(5)))
struct CachingClientRemoteTests {
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
    try await two.tier.purges.refresh()
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
    let (isAsked, gate) = (Gate(), Gate())
    let tier = MemoryServer()
    tier.setFault { _ in
      isAsked.open()
      return .hold(gate)
    }
    let machine = try TierMachine(origin, tier, mode: .read)
    let asking = Task { try await machine.client.data(for: request()) }
    #expect(await isAsked.pass())
    let other = CachingClient(
      store: machine.sandbox.store, transport: origin, options: ClientOptions(),
      clock: machine.sandbox.clock)
    #expect(try await other.data(for: request()).bytes == [1])
    gate.open()
    let status = try await asking.value.response.cacheStatus
    #expect(status.description == "OfflineCache; hit; ttl=1000")
    #expect(origin.requests.count == 1)
  }

  @Test("variants follow Vary on each machine")
  func variants() async throws {
    let origin = ScriptedTransport { request in
      let value = request.fields.first(named: "Prefer")?.text ?? "-"
      return .success(ScriptedTransport.Answer(value, fields: fresh(vary: "Prefer")))
    }
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    let (a, b) = (
      request("/v", [HTTPField("Prefer", "a")]), request("/v", [HTTPField("Prefer", "b")])
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
  func clocks(days: Int) async throws {
    let origin = ScriptedTransport(answer([1], fresh(1000, tag: "a")))
    let server = MemoryServer()
    let (one, two) = (try TierMachine(origin, server), try TierMachine(origin, server))
    one.sandbox.clock.advance(bySeconds: Double(days) * 86_400)
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
}
