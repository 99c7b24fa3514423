import ClientTesting
import Synchronization
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct BackgroundTests {
  private typealias Answer = ScriptedTransport.Answer
  private let fields: HTTPFields = [
    HTTPField("Cache-Control", "max-age=10, stale-while-revalidate=1000"),
    HTTPField("ETag", "\"1\""),
  ]

  /// Stores an answer for each of some paths, and lets all of them become stale.
  private func staleSandbox(_ paths: Int, maximum: Int = 16) async throws -> ClientSandbox {
    var options = ClientOptions()
    options.maximumBackgroundFetches = maximum
    let sandbox = try ClientSandbox(ScriptedTransport(Answer("old", fields: fields)), options)
    for number in 0..<paths { _ = try await sandbox.client.data(for: request("/\(number)")) }
    sandbox.clock.advance(bySeconds: 100)
    return sandbox
  }

  @Test func `a stale answer is served at once and is fresh the next time`() async throws {
    for (answer, expected) in [
      (Answer(status: 304, fields: fields), "old"), (Answer("new", fields: fields), "new"),
    ] {
      let sandbox = try await staleSandbox(1)
      let gate = Gate()
      var held = answer
      held.headGate = gate
      sandbox.transport.answer(held)
      let stale = try await sandbox.client.data(for: request("/0"))
      #expect(stale.bytes == Array("old".utf8))
      #expect(stale.response.cacheStatus.description == "OfflineCache; hit; ttl=-90")
      await eventually { sandbox.transport.requests.count == 2 }
      gate.open()
      await sandbox.client.waitForBackground()
      let fresh = try await sandbox.client.data(for: request("/0"))
      #expect(fresh.bytes == Array(expected.utf8))
      #expect(fresh.response.cacheStatus.ttl == 10)
      #expect(sandbox.transport.requests.count == 2)
    }
  }

  @Test func `a failing validation in the background changes nothing`() async throws {
    let sandbox = try await staleSandbox(1)
    sandbox.transport.disconnect()
    for _ in 0..<2 {
      #expect(try await sandbox.client.data(for: request("/0")).bytes == Array("old".utf8))
      await sandbox.client.waitForBackground()
    }
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test func `what may not be stored is not read in the background, and has the time limits`()
    async throws
  {
    let sandbox = try await staleSandbox(1)
    var endless = Answer("1", fields: [HTTPField("Cache-Control", "no-store")])
    endless.pieces += [[2], [3]]
    // The gate is never opened: a body without an end.
    endless.gates[1] = Gate()
    sandbox.transport.answer(endless)
    let options = FetchOptions(transport: TransportOptions(idleTimeout: .seconds(7)))
    _ = try await sandbox.client.data(for: request("/0"), options: options)
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 2)
    #expect(sandbox.transport.options.last?.idleTimeout == .seconds(7))
  }

  @Test func `who validates otherwise gets no answer at once for which that is due`() async throws {
    let sandbox = try await staleSandbox(1)
    var options = FetchOptions()
    options.validatesAtOnce = false
    #expect(sandbox.client.storedAnswer(to: request("/0"), options: options) == nil)
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 1)
    #expect(
      try await sandbox.client.data(for: request("/0"), options: options).bytes == Array("old".utf8)
    )
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 2)
  }

  @Test func `one validation for a key at a time, and no more of them than allowed`() async throws {
    let sandbox = try await staleSandbox(10, maximum: 3)
    let gate = Gate()
    var held = Answer(status: 304, fields: fields)
    held.headGate = gate
    sandbox.transport.answer(held)
    for number in 0..<10 {
      for _ in 0..<5 {
        let answer = try #require(sandbox.client.storedAnswer(to: request("/\(number)")))
        #expect(try await answer.body.next() == Array("old".utf8))
      }
    }
    await eventually { sandbox.transport.requests.count >= 13 }
    gate.open()
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 13)
    #expect(Set(sandbox.transport.requests[10...].map(\.url.target)) == ["/0", "/1", "/2"])
  }

  @Test func `with no validation allowed in the background what is stale is served all the same`()
    async throws
  {
    let sandbox = try await staleSandbox(1, maximum: 0)
    #expect(try await sandbox.client.data(for: request("/0")).bytes == Array("old".utf8))
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `an answer in the background that may not be stored is asked for once`() async throws {
    let sandbox = try await staleSandbox(1)
    let gate = Gate()
    var held = Answer("secret", fields: [HTTPField("Cache-Control", "no-store")])
    held.headGate = gate
    sandbox.transport.answer(held)
    for _ in 0..<5 {
      #expect(try await sandbox.client.data(for: request("/0")).bytes == Array("old".utf8))
    }
    gate.open()
    await sandbox.client.waitForBackground()
    #expect(sandbox.transport.requests.count == 2)
    #expect(sandbox.store.statistics.entries == 1)
  }
}
