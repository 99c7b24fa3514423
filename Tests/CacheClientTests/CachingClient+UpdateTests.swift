import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(2)))
struct CachingClientUpdateTests {
  @Test func `a stored answer is compared, and stays as it is`() async throws {
    let sandbox = try ClientSandbox(.init("old", fields: [HTTPField("ETag", "\"1\"")]))
    #expect(try await sandbox.client.updateState(of: request()) == .missing)
    _ = try await sandbox.client.data(for: request())
    func state(_ answer: ScriptedTransport.Answer) async throws -> UpdateState {
      sandbox.transport.answer(answer)
      return try await sandbox.client.updateState(of: request())
    }
    #expect(try await state(.init(status: 304)) == .current)
    #expect(sandbox.transport.requests.last?.method == .head)
    #expect(
      sandbox.transport.requests.last?.fields.first(named: "If-None-Match")?.text == "\"1\"")
    #expect(try await state(.init(fields: [HTTPField("ETag", "W/\"1\"")])) == .current)
    #expect(try await state(.init(fields: [HTTPField("ETag", "\"2\"")])) == .changed)
    #expect(try await state(.init()) == .unknown)
    for status in [401, 404, 500] {
      #expect(try await state(.init(status: status)) == .refused(status: status))
    }
    let count = sandbox.transport.requests.count
    #expect(try await state(.init(status: 405)) == .refused(status: 405))
    #expect(sandbox.transport.requests.dropFirst(count).map(\.method.rawValue) == ["HEAD", "GET"])
    // A server that gives it to GET alone.
    sandbox.transport.set { request in
      .success(
        request.method == .head
          ? .init(status: 403) : .init(fields: [HTTPField("ETag", "\"2\"")]))
    }
    #expect(try await sandbox.client.updateState(of: request()) == .changed)
    sandbox.transport.disconnect()
    await #expect(throws: ClientError.self) {
      try await sandbox.client.updateState(of: request())
    }
    let kept = await sandbox.outcome(request(), FetchOptions(policy: .offline))
    #expect(String(decoding: kept.bytes, as: UTF8.self) == "old")
  }

  @Test func `behind a stored redirect, the answer that it leads to is compared`() async throws {
    typealias Answer = ScriptedTransport.Answer
    let sandbox = try ClientSandbox(Answer())
    /// Has `/a` lead to another place, which gives a tag.
    func state(_ place: String, _ tag: String) async throws -> UpdateState {
      sandbox.transport.set { request in
        request.url.target == "/a"
          ? .success(Answer(status: 301, fields: [HTTPField("Location", place)]))
          : .success(Answer("x", fields: [HTTPField("ETag", tag)]))
      }
      return try await sandbox.client.updateState(of: request())
    }
    #expect(try await state("/b", "\"1\"") == .missing)
    _ = try await sandbox.client.data(for: request())
    #expect(try await state("/b", "\"1\"") == .current)
    #expect(try await state("/b?2", "\"1\"") == .current)
    #expect(try await state("/b", "\"2\"") == .changed)
    #expect(try await state("/c", "\"1\"") == .unknown)
  }
}
