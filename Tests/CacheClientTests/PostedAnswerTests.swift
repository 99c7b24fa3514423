import ClientTesting
import Testing

@testable import CacheClient

/// Answers to `POST` that a later `GET` gets (RFC 9110, section 9.3.3).
@Suite(.timeLimit(.minutes(5)))
struct PostedAnswerTests {
  private typealias Answer = ScriptedTransport.Answer

  private var located: HTTPFields {
    var fields = fresh()
    fields.append(HTTPField("Content-Location", "/a"))
    return fields
  }

  private func post(_ sandbox: ClientSandbox) async throws -> ClientResponse {
    try await sandbox.client.fetch(request(method: "POST"), body: .bytes([1]))
  }

  private func text(_ response: ClientResponse) async throws -> String {
    var bytes: [UInt8] = []
    while let piece = try await response.body.next() { bytes += piece }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [[3], [70_000], Array(repeating: 50_000, count: 5)])
  func `a GET gets the answer that says that it is its own, in place of what was stored`(
    sizes: [Int]
  ) async throws {
    let sandbox = try ClientSandbox(Answer("old", fields: fresh()))
    _ = try await sandbox.client.data(for: request())
    let body = pieces(sizes)
    sandbox.transport.answer(Answer(body, fields: located))
    let response = try await post(sandbox)
    #expect(response.cacheStatus.description == "OfflineCache; fwd=method; stored")
    while try await response.body.next() != nil {}
    #expect(response.body.storing.name == "stored")
    let got = try await sandbox.client.data(for: request())
    #expect(got.response.source == .disk)
    #expect(got.bytes == Array(body.joined()))
    // A POST is never answered from the store.
    _ = try await text(post(sandbox))
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test func `the answer to a POST is not stored after the next one`() async throws {
    let gate = Gate()
    var first = Answer([Array("on".utf8), Array("e".utf8)], fields: located)
    first.gates = [1: gate]
    let sandbox = try ClientSandbox(first)
    let early = try await post(sandbox)
    #expect(try await early.body.next() == Array("on".utf8))
    sandbox.transport.answer(Answer("two", fields: located))
    #expect(try await text(post(sandbox)) == "two")
    gate.open()
    #expect(try await text(early) == "e")
    #expect(early.body.storing.name == "invalidated")
    #expect(try await sandbox.client.data(for: request()).bytes == Array("two".utf8))
  }

  @Test func `a GET under way is not stored over the answer to a POST`() async throws {
    let gate = Gate()
    var old = Answer([Array("old".utf8), Array("er".utf8)], fields: fresh())
    old.gates = [1: gate]
    let sandbox = try ClientSandbox(old)
    let early = try await sandbox.client.fetch(request())
    #expect(try await early.body.next() == Array("old".utf8))
    sandbox.transport.answer(Answer("new", fields: located))
    #expect(try await text(post(sandbox)) == "new")
    gate.open()
    #expect(try await text(early) == "er")
    #expect(early.body.storing.name == "invalidated")
    #expect(try await sandbox.client.data(for: request()).bytes == Array("new".utf8))
  }

  @Test func `an answer for another URL is not stored, and removes what is`() async throws {
    let sandbox = try ClientSandbox(Answer("old", fields: fresh()))
    for path in ["/a", "/b"] { _ = try await sandbox.client.data(for: request(path)) }
    var fields = fresh()
    fields.append(HTTPField("Content-Location", "/b"))
    sandbox.transport.answer(Answer("new", fields: fields))
    let response = try await post(sandbox)
    #expect(try await text(response) == "new")
    #expect(response.body.storing.name == "forbidden")
    #expect(sandbox.store.statistics.entries == 0)
  }
}
