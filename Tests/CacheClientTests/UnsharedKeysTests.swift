import ClientTesting
import Testing

@testable import CacheClient

/// Who waits for whose answer.
@Suite(.timeLimit(.minutes(5)))
struct UnsharedKeysTests {
  private typealias Answer = ScriptedTransport.Answer

  @Test(
    arguments: [
      [HTTPField("Cache-Control", "no-store")], [HTTPField("Cache-Control", "no-cache")],
      [HTTPField("Cache-Control", "max-age=0, must-revalidate")], [HTTPField("Vary", "*")],
    ])
  func `what may not be given to others is asked for by each, from then on at once`(
    fields: [HTTPField]
  ) async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: HTTPFields(fields)), gate))
    let outcomes = await sandbox.ask(Array(repeating: request(), count: 10), gate)
    #expect(outcomes.allSatisfy { $0.bytes == [0x78] })
    #expect(sandbox.transport.requests.count == 10)
    // Nobody waits for another any more: all have been sent before the first one is answered.
    let second = Gate()
    sandbox.transport.answer(held(Answer("y", fields: HTTPFields(fields)), second))
    let tasks = (0..<10).map { _ in Task { await sandbox.outcome(request()) } }
    await eventually { sandbox.transport.requests.count == 20 }
    second.open()
    for task in tasks { #expect(await task.value.bytes == [0x79]) }
  }

  @Test func `after a while, or once they can be shared, answers are waited for again`()
    async throws
  {
    let store = HTTPField("Cache-Control", "no-store")
    let sandbox = try ClientSandbox(Answer("x", fields: [store]))
    _ = try await sandbox.client.data(for: request())
    sandbox.clock.advance(bySeconds: 59)
    let isRemembered = {
      sandbox.client.unsharedKeys.contains(
        sandbox.client.key(of: request()), .none, now: sandbox.client.now)
    }
    #expect(isRemembered())
    sandbox.clock.advance(bySeconds: 1)
    #expect(!isRemembered())
    let gate = Gate()
    sandbox.transport.answer(held(Answer("y", fields: fresh(0)), gate))
    let outcomes = await sandbox.ask(Array(repeating: request(), count: 5), gate)
    #expect(outcomes.allSatisfy { $0.bytes == [0x79] })
    #expect(sandbox.transport.requests.count == 2)
    sandbox.transport.answer(Answer("x", fields: [store]))
    _ = try await sandbox.client.data(for: request())
    #expect(isRemembered())
    sandbox.transport.answer(Answer("x", fields: fresh()))
    _ = try await sandbox.client.data(for: request())
    #expect(!isRemembered())
  }

  @Test func `what is remembered of answers that cannot be shared is bounded`() {
    let keys = UnsharedKeys()
    let now = Timestamp(nanoseconds: 1)
    for number in 0..<100_000 {
      keys.note(ByteString("\(number)"), .none, isShareable: false, now: now)
      if number % 1000 == 0 { #expect(keys.count <= UnsharedKeys.maximumCount) }
    }
    #expect(keys.count <= UnsharedKeys.maximumCount)
    #expect(keys.contains(ByteString("99999"), .none, now: now))
    #expect(!keys.contains(ByteString("99999"), .none, now: Timestamp(nanoseconds: 0)))
    #expect(!keys.contains(ByteString("0"), .none, now: now))
  }

  @Test(arguments: [
    [HTTPField("Cache-Control", "max-age=0")], [HTTPField("Age", "9"), HTTPField("Expires", "0")],
    [],
  ])
  func `an answer that is stale on arrival is shared by those who came before it`(
    fields: [HTTPField]
  ) async throws {
    let gate = Gate()
    let body = HTTPFields(fields + [HTTPField("ETag", "\"1\"")])
    let sandbox = try ClientSandbox(held(Answer("x", fields: body), gate))
    let outcomes = await sandbox.ask(Array(repeating: request(), count: 32), gate)
    #expect(outcomes.allSatisfy { $0.bytes == [0x78] })
    #expect(sandbox.transport.requests.count == 1)
    // And so is the validation of it.
    let second = Gate()
    sandbox.transport.answer(held(Answer(status: 304, fields: body), second))
    let again = await sandbox.ask(Array(repeating: request(), count: 32), second)
    #expect(again.allSatisfy { $0.bytes == [0x78] })
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test func `an answer that is stale on arrival is not given to another user`() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request in
      let user = request.fields.first(named: "Cookie")?.text ?? "nobody"
      return .success(held(Answer(user, fields: fresh(0)), gate))
    }
    let sandbox = try ClientSandbox(transport)
    let users = ["a", "b", "a", "c"]
    let outcomes = await sandbox.ask(users.map { request("/a", [HTTPField("Cookie", $0)]) }, gate)
    #expect(outcomes.map { String(decoding: $0.bytes, as: UTF8.self) } == users)
  }

  @Test func `a request that wants a validation of its own waits for nobody`() async throws {
    let gate = Gate()
    let sandbox = try ClientSandbox(held(Answer("x", fields: fresh()), gate))
    let controls = ["no-cache", "max-age=0"]
    let tasks = (controls + controls).map { control in
      Task { await sandbox.outcome(request("/a", [HTTPField("Cache-Control", control)])) }
    }
    await eventually { sandbox.transport.requests.count == 4 }
    gate.open()
    for task in tasks { #expect(await task.value.bytes == [0x78]) }
  }

  @Test func `users, and languages where Vary is known, do not wait for one another`()
    async throws
  {
    let vary = fresh(0, vary: "Accept-Language")
    let sandbox = try ClientSandbox(Answer("x", fields: vary))
    _ = try await sandbox.client.data(for: request())
    let gate = Gate()
    sandbox.transport.answer(held(Answer("y", fields: vary), gate))
    let fields: [HTTPFields] = ["Accept-Language", "Authorization"].flatMap { name in
      ["a", "b"].map { [HTTPField(name, $0)] }
    }
    let tasks = (fields + fields).map { fields in
      Task { await sandbox.outcome(request("/a", fields)) }
    }
    await eventually { sandbox.client.askers == 8 }
    await eventually { sandbox.transport.requests.count == 5 }
    gate.open()
    for task in tasks { #expect(await task.value.bytes == [0x79]) }
    #expect(sandbox.transport.requests.count == 5)
  }
}
