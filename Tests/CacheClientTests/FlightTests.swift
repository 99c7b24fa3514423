import CacheSystem
import ClientTesting
import Synchronization
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct FlightTests {
  private typealias Answer = ScriptedTransport.Answer

  @Test func `what is being cancelled is not joined, and the next one begins anew`() throws {
    let flights = Flights()
    let asked = try forwarding(request())
    let first = try #require(flights.join(asked, TransportOptions()))
    let second = try #require(flights.join(asked, TransportOptions()))
    #expect(first.asker == .first && first.flight === second.flight)
    #expect(second.asker == .waiter(takesStale: true))
    first.flight.leave()
    second.flight.leave()
    let third = try #require(flights.join(asked, TransportOptions()))
    #expect(third.asker == .first && third.flight !== first.flight)
    // The end of the old one takes nothing from the new one.
    flights.end(asked.key, first.flight)
    #expect(flights.join(asked, TransportOptions())?.flight === third.flight)
  }

  @Test func `a stale answer is for those who came before it, and name the same user`() throws {
    let flights = Flights()
    let first = try #require(flights.join(forwarding(request()), TransportOptions()))
    let other = request("/a", [HTTPField("Cookie", "a=1")])
    #expect(
      flights.join(try forwarding(other), TransportOptions())?.asker
        == .waiter(takesStale: false))
    for name in ["X-Api-Key", "X-Forwarded-User"] {
      let key = request("/a", [HTTPField(name, "b")])
      #expect(
        flights.join(try forwarding(key), TransportOptions())?.asker == .waiter(takesStale: false))
    }
    let agent = request(
      "/a", [HTTPField("User-Agent", "b"), HTTPField("X-Forwarded-For", "10.0.0.1")])
    #expect(
      flights.join(try forwarding(agent), TransportOptions())?.asker == .waiter(takesStale: true))
    first.flight.takeHead()
    #expect(
      flights.join(try forwarding(request()), TransportOptions())?.asker
        == .waiter(takesStale: false))
  }

  @Test func `requests of different priorities share one, those with other timeouts do not`() throws
  {
    let flights = Flights()
    let asked = try forwarding(request())
    let first = try #require(flights.join(asked, TransportOptions(priority: -1)))
    let second = try #require(flights.join(asked, TransportOptions(priority: 9)))
    #expect(second.flight === first.flight)
    #expect(flights.join(asked, TransportOptions(idleTimeout: .seconds(1), priority: -1)) == nil)
  }

  private func forwarding(_ request: HTTPRequest) throws -> Forwarding {
    let sandbox = try ClientSandbox(Answer())
    guard
      case .forward(let forwarding) = sandbox.client.cache.decide(request, now: sandbox.client.now)
    else { throw CancellationError() }
    return forwarding
  }

  @Test
  func `a hundred tasks that ask for one thing share one request, and one of several MB, too`()
    async throws
  {
    for sizes in [[5], [70_000], Array(repeating: 150_001, count: 20)] {
      let gate = Gate()
      let body = pieces(sizes)
      let sandbox = try ClientSandbox(held(Answer(body, fields: fresh()), gate))
      let outcomes = await sandbox.ask(Array(repeating: request(), count: 100), gate)
      let whole = Array(body.joined())
      #expect(outcomes.allSatisfy { $0.bytes == whole && $0.error == nil })
      #expect(sandbox.transport.requests.count == 1)
      #expect(sandbox.staged.isEmpty)
      #expect(sandbox.client.askers == 0)
      #expect(try await sandbox.client.data(for: request()).response.source == .disk)
    }
  }

  @Test func `requests with other timeouts are sent by themselves, each with its own`() async throws
  {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let quick = TransportOptions(idleTimeout: .seconds(5))
    let first = Task { await sandbox.outcome(request()) }
    await eventually { sandbox.client.askers == 1 }
    let second = Task { await sandbox.outcome(request(), FetchOptions(transport: quick)) }
    await eventually { sandbox.transport.requests.count == 2 }
    let third = Task {
      await sandbox.outcome(
        request(), FetchOptions(transport: sandbox.client.options.transport))
    }
    await eventually { sandbox.client.askers == 2 }
    gate.open()
    for task in [first, second, third] { #expect(await task.value.bytes == [0x78]) }
    #expect(sandbox.transport.options == [sandbox.client.options.transport, quick])
  }

  @Test func `who has joined says so, and gets an age`() async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let first = Task { try await sandbox.client.fetch(request()) }
    await eventually { sandbox.client.askers == 1 }
    let second = Task { try await sandbox.client.fetch(request()) }
    await eventually { sandbox.client.askers == 2 }
    gate.open()
    let answers = [try await first.value, try await second.value]
    #expect(answers[0].cacheStatus.description == "OfflineCache; fwd=uri-miss; stored")
    #expect(answers[1].cacheStatus.description == "OfflineCache; fwd=uri-miss; stored; collapsed")
    #expect(answers.map { $0.head.fields.contains("Age") } == [false, true])
  }

  @Test func `the one who began may leave, and the others still get the answer`() async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let first = Task { await sandbox.outcome(request()) }
    await eventually { sandbox.client.askers == 1 }
    let second = Task { await sandbox.outcome(request()) }
    await eventually { sandbox.client.askers == 2 }
    first.cancel()
    let url = request().url.string
    #expect(
      await first.value.error
        == ClientError(.transport(TransportError(.cancelled, url: url)), url: url))
    gate.open()
    #expect(await second.value.bytes == [0x78])
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `when all have left before the head, the transfer ends and the next one asks anew`()
    async throws
  {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let tasks = (0..<3).map { _ in Task { await sandbox.outcome(request()) } }
    await eventually { sandbox.client.askers == 3 }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value.error != nil) }
    // The gate stays shut: only the cancellation can end the transfer.
    await eventually { sandbox.client.flights.flights.withLock { $0.isEmpty } }
    #expect(sandbox.transport.bodies.isEmpty)
    sandbox.transport.answer(Answer("y", fields: fresh()))
    #expect(try await sandbox.client.data(for: request()).bytes == [0x79])
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test func `who selects something else asks by itself, and so does another user`() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request in
      let body = ["Accept", "Authorization"].compactMap { request.fields.first(named: $0)?.text }
      var answer = Answer(body.joined(), fields: fresh(vary: "Accept"))
      answer.headGate = gate
      return .success(answer)
    }
    let sandbox = try ClientSandbox(transport)
    let fields: [HTTPFields] = [
      [HTTPField("Accept", "a")], [HTTPField("Accept", "b")], [HTTPField("Accept", "a")],
      [HTTPField("Accept", "a"), HTTPField("Authorization", "u")],
      [HTTPField("Accept", "a"), HTTPField("Authorization", "v")],
    ]
    let outcomes = await sandbox.ask(fields.map { request("/a", $0) }, gate)
    #expect(
      outcomes.map { String(decoding: $0.bytes, as: UTF8.self) } == ["a", "b", "a", "au", "av"])
  }

  @Test func `a validation that makes a response fresh is shared by those who wait for it`()
    async throws
  {
    for size in [1, 100_000] {
      let body = pieces([size])
      let sandbox = try ClientSandbox(Answer(body, fields: fresh(tag: "1")))
      _ = try await sandbox.client.data(for: request())
      let gate = Gate()
      var answer = Answer(status: 304, fields: fresh(tag: "1"))
      answer.headGate = gate
      sandbox.transport.answer(answer)
      sandbox.clock.advance(bySeconds: 2000)
      let outcomes = await sandbox.ask(Array(repeating: request(), count: 20), gate)
      #expect(outcomes.allSatisfy { $0.bytes == body[0] })
      #expect(sandbox.transport.requests.count == 2)
    }
  }

  @Test func `a validation that each request needs is not shared`() async throws {
    let everyTime: HTTPFields = [
      HTTPField("Cache-Control", "no-cache"), HTTPField("ETag", "\"1\""),
    ]
    let sandbox = try ClientSandbox(Answer("secret", fields: everyTime))
    _ = try await sandbox.client.data(for: request())
    let gate = Gate()
    var answer = Answer(status: 304, fields: everyTime)
    answer.headGate = gate
    sandbox.transport.answer(answer)
    let tasks = (0..<5).map { _ in Task { await sandbox.outcome(request()) } }
    // All are sent before one is answered.
    await eventually { sandbox.transport.requests.count == 6 }
    gate.open()
    for task in tasks { #expect(await task.value.bytes == Array("secret".utf8)) }
  }

  @Test func `an error reaches all who wait`() async throws {
    let sandbox = try ClientSandbox(Answer())
    let failing = FailingTransport(.cannotConnect)
    let client = CachingClient(store: sandbox.store, transport: failing, clock: sandbox.clock)
    let tasks = (0..<10).map { _ in Task { try await client.fetch(request()).head } }
    await eventually { client.askers == 10 }
    failing.gate.open()
    let url = request().url.string
    for task in tasks {
      let error = await #expect(throws: ClientError.self) { try await task.value }
      #expect(error == ClientError(.transport(TransportError(.cannotConnect, url: url)), url: url))
    }
    #expect(failing.requests == 1)
  }

  @Test func `where the origin cannot be reached each of those who wait gets what is stored`()
    async throws
  {
    for size in [1, 100_000] {
      let body = pieces([size])
      let sandbox = try ClientSandbox(Answer(body, fields: fresh(10)))
      _ = try await sandbox.client.data(for: request())
      sandbox.clock.advance(bySeconds: 100)
      let failing = FailingTransport(.timeout)
      let client = CachingClient(store: sandbox.store, transport: failing, clock: sandbox.clock)
      let tasks = (0..<10).map { _ in Task { try await client.data(for: request()).bytes } }
      await eventually { client.askers == 10 }
      failing.gate.open()
      for task in tasks { #expect(try await task.value == body[0]) }
      #expect(failing.requests == 1)
    }
  }

  @Test(arguments: [true, false])
  func `an unsafe request keeps what is under way from being stored`(isShared: Bool) async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request in
      if request.method != .get { return .success(Answer("done", status: 200)) }
      var answer = Answer("old", fields: fresh())
      answer.gates = [1: gate]
      return .success(answer)
    }
    let sandbox = try ClientSandbox(transport)
    let options = FetchOptions(policy: isShared ? .protocolRules : .reload)
    let response = try await sandbox.client.fetch(request(), options: options)
    #expect(try await response.body.next() == Array("old".utf8))
    _ = try await sandbox.client.data(for: request(method: "POST"))
    // Who asks now must not join.
    transport.answer(Answer("new", fields: fresh()))
    #expect(try await sandbox.client.data(for: request()).bytes == Array("new".utf8))
    gate.open()
    #expect(try await response.body.next() == nil)
    #expect(response.body.storing.name == "invalidated")
    #expect(try await sandbox.client.data(for: request()).bytes == Array("new".utf8))
    #expect(transport.requests.count == 3)
  }
}
