import CacheFormat
import HTTPCaching
import HTTPSemantics
import HTTPTransport
import Synchronization
import Testing

@testable import CachingClient

@Suite(.timeLimit(.minutes(1)))
struct FlightTests {
  private typealias Answer = ScriptedTransport.Answer

  /// Counts those who wait for the head.
  private func askers(_ client: CachingClient) -> Int {
    let key = client.cache.key(of: request())
    return client.flights.flights.withLock { flights in
      flights[key].map { flight in flight.state.withLock { $0.askers } } ?? 0
    }
  }

  private func held(_ answer: Answer, _ gate: Gate) -> Answer {
    var answer = answer
    answer.headGate = gate
    return answer
  }

  /// Lets several tasks ask, and opens the gate when all of them wait for the head.
  private func ask(
    _ sandbox: ClientSandbox, _ requests: [HTTPRequest], _ gate: Gate
  ) async -> [(bytes: [UInt8], error: ClientError?)] {
    let tasks = requests.map { asked in Task { await sandbox.outcome(asked) } }
    await eventually { askers(sandbox.client) == requests.count }
    gate.open()
    var outcomes: [(bytes: [UInt8], error: ClientError?)] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }

  @Test func `what is being cancelled is not joined, and the next one begins anew`() throws {
    let flights = Flights()
    let key = ByteString("k")
    let first = try #require(flights.join(key, TransportOptions()))
    let second = try #require(flights.join(key, TransportOptions()))
    #expect(first.isFirst && !second.isFirst && first.flight === second.flight)
    first.flight.leave()
    second.flight.leave()
    let third = try #require(flights.join(key, TransportOptions()))
    #expect(third.isFirst && third.flight !== first.flight)
    // The end of the old one takes nothing from the new one.
    flights.end(key, first.flight)
    #expect(flights.join(key, TransportOptions())?.flight === third.flight)
  }

  @Test
  func `a hundred tasks that ask for one thing share one request, and one of several MB, too`()
    async throws
  {
    for sizes in [[5], [70_000], Array(repeating: 150_001, count: 20)] {
      let gate = Gate()
      let body = pieces(sizes)
      let sandbox = try ClientSandbox(held(Answer(body, fields: fresh()), gate))
      let outcomes = await ask(sandbox, Array(repeating: request(), count: 100), gate)
      let whole = Array(body.joined())
      #expect(outcomes.allSatisfy { $0.bytes == whole && $0.error == nil })
      #expect(sandbox.transport.requests.count == 1)
      #expect(sandbox.staged.isEmpty)
      #expect(askers(sandbox.client) == 0)
      #expect(try await sandbox.client.data(for: request()).response.source == .disk)
    }
  }

  @Test func `requests with other timeouts are sent by themselves, each with its own`() async throws
  {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let quick = TransportOptions(idleTimeout: .seconds(5))
    let first = Task { await sandbox.outcome(request()) }
    await eventually { askers(sandbox.client) == 1 }
    let second = Task { await sandbox.outcome(request(), FetchOptions(transport: quick)) }
    await eventually { sandbox.transport.requests.count == 2 }
    let third = Task {
      await sandbox.outcome(
        request(), FetchOptions(transport: sandbox.client.options.transport))
    }
    await eventually { askers(sandbox.client) == 2 }
    gate.open()
    for task in [first, second, third] { #expect(await task.value.bytes == [0x78]) }
    #expect(sandbox.transport.options == [sandbox.client.options.transport, quick])
  }

  @Test func `who has joined says so, and gets an age`() async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let first = Task { try await sandbox.client.fetch(request()) }
    await eventually { askers(sandbox.client) == 1 }
    let second = Task { try await sandbox.client.fetch(request()) }
    await eventually { askers(sandbox.client) == 2 }
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
    await eventually { askers(sandbox.client) == 1 }
    let second = Task { await sandbox.outcome(request()) }
    await eventually { askers(sandbox.client) == 2 }
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
    await eventually { askers(sandbox.client) == 3 }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value.error != nil) }
    // The gate stays shut: only the cancellation can end the transfer.
    await eventually { sandbox.client.flights.flights.withLock { $0.isEmpty } }
    #expect(sandbox.transport.bodies.isEmpty)
    sandbox.transport.answer(Answer("y", fields: fresh()))
    #expect(try await sandbox.client.data(for: request()).bytes == [0x79])
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test(
    arguments: [
      [HTTPField("Cache-Control", "no-store")], [HTTPField("Cache-Control", "max-age=0")],
      [HTTPField("Cache-Control", "no-cache")], [HTTPField("Vary", "*")],
    ])
  func `what may not be given to others is asked for by each`(fields: [HTTPField]) async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: HTTPFields(fields)), gate))
    let outcomes = await ask(sandbox, Array(repeating: request(), count: 10), gate)
    #expect(outcomes.allSatisfy { $0.bytes == [0x78] })
    #expect(sandbox.transport.requests.count == 10)
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
    let outcomes = await ask(sandbox, fields.map { request("/a", $0) }, gate)
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
      let outcomes = await ask(sandbox, Array(repeating: request(), count: 20), gate)
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
    let outcomes = await ask(sandbox, Array(repeating: request(), count: 5), gate)
    #expect(outcomes.allSatisfy { $0.bytes == Array("secret".utf8) })
    #expect(sandbox.transport.requests.count == 6)
  }

  @Test func `an error reaches all who wait`() async throws {
    let sandbox = try ClientSandbox(Answer())
    let failing = FailingTransport(.cannotConnect)
    let client = CachingClient(store: sandbox.store, transport: failing, clock: sandbox.clock)
    let tasks = (0..<10).map { _ in Task { try await client.fetch(request()).head } }
    await eventually { askers(client) == 10 }
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
      await eventually { askers(client) == 10 }
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
