import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct BodySliceSourceTests {
  private typealias Answer = ScriptedTransport.Answer

  /// Stores the beginning of a body, up to a place.
  private func sandbox(_ whole: [UInt8], upTo end: Int) async throws -> ClientSandbox {
    let sandbox = try ClientSandbox(part(whole, 0..<end, fresh(tag: "1")))
    let asked = request("/a", [HTTPField("Range", "bytes=0-\(end - 1)")])
    #expect(try await sandbox.client.data(for: asked).bytes == Array(whole[..<end]))
    return sandbox
  }

  private func part(_ whole: [UInt8], _ range: Range<Int>, _ fields: HTTPFields) -> Answer {
    var answer = Answer([Array(whole[range])], fields: fields)
    answer.status = 206
    let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"
    answer.fields.append(HTTPField("Content-Range", value))
    return answer
  }

  @Test(arguments: [1000, 200_000])
  func `a stored beginning is completed with the rest alone`(size: Int) async throws {
    let whole = pieces([size])[0]
    let sandbox = try await sandbox(whole, upTo: size / 2)
    sandbox.transport.answer(part(whole, size / 2..<size, fresh(tag: "1")))
    let result = try await sandbox.client.data(for: request())
    #expect(result.bytes == whole)
    #expect(result.response.head.status == 200)
    #expect(result.response.body.storing.name == "stored")
    let sent = try #require(sandbox.transport.requests.last)
    #expect(sent.fields.first(named: "Range")?.text == "bytes=\(size / 2)-")
    #expect(sent.fields.first(named: "If-Range")?.text == "\"1\"")
    let again = try await sandbox.client.data(for: request())
    #expect(again.bytes == whole)
    #expect(again.response.reason == nil)
  }

  @Test func `a rest that must not be stored is not put behind what is: the whole is asked for`()
    async throws
  {
    let whole = pieces([1000])[0]
    let sandbox = try await sandbox(whole, upTo: 500)
    var noStore = fresh(tag: "1")
    noStore.replace(with: HTTPField("Cache-Control", "no-store"))
    let fields = noStore
    let rest = part(whole, 500..<1000, fields)
    sandbox.transport.set { request in
      .success(request.fields.contains("Range") ? rest : Answer([whole], fields: fields))
    }
    let result = try await sandbox.client.data(for: request())
    #expect(result.bytes == whole)
    #expect(result.response.body.storing.name == "forbidden")
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test func `a rest that is shorter than it says is an error, and nothing whole is stored`()
    async throws
  {
    let whole = pieces([1000])[0]
    let sandbox = try await sandbox(whole, upTo: 500)
    var rest = part(whole, 500..<1000, fresh(tag: "1"))
    rest.pieces[0].removeLast()
    sandbox.transport.answer(rest)
    let url = request().url.string
    #expect(
      await sandbox.outcome(request()).error
        == ClientError(.transport(TransportError(.truncatedBody, url: url)), url: url))
    #expect(sandbox.store.statistics.entries == 1)
  }

  @Test func `a beginning of what has become shorter is removed, and the whole asked for`()
    async throws
  {
    let whole = pieces([1000])[0]
    let sandbox = try await sandbox(whole, upTo: 500)
    sandbox.transport.set { request in
      // This server does not know `If-Range`.
      if request.fields.contains("Range") { return .success(Answer("", status: 416)) }
      return .success(Answer("short", fields: [HTTPField("Cache-Control", "no-store")]))
    }
    for _ in 0..<2 {
      let (bytes, response) = try await sandbox.client.data(for: request())
      #expect(bytes == Array("short".utf8) && response.head.status == 200)
    }
    #expect(sandbox.store.statistics.entries == 0)
    #expect(sandbox.transport.requests.filter { $0.fields.contains("Range") }.count == 2)
  }

  @Test func `a rest of another state is let go of, and the whole asked for`() async throws {
    let whole = pieces([1000])[0]
    let newer = pieces([1000], seed: 2)[0]
    let sandbox = try await sandbox(whole, upTo: 500)
    for answersRange in [true, false] {
      let rest = part(newer, 500..<1000, fresh(tag: "2"))
      sandbox.transport.set { request in
        let isRange = request.fields.contains("Range") && answersRange
        return .success(isRange ? rest : Answer([newer], fields: fresh(0, tag: "2")))
      }
      #expect(try await sandbox.client.data(for: request()).bytes == newer)
      try sandbox.store.remove("GET http://example.com/a", variant: 0)
    }
  }

  @Test(arguments: [304, 412])
  func `a server that takes If-Range for a condition is asked for the whole`(status: Int)
    async throws
  {
    let whole = pieces([1000])[0]
    let sandbox = try await sandbox(whole, upTo: 500)
    sandbox.transport.set { request in
      request.fields.contains("If-Range")
        ? .success(Answer("", status: status)) : .success(Answer([whole], fields: fresh(tag: "1")))
    }
    let (bytes, response) = try await sandbox.client.data(for: request())
    #expect(bytes == whole && response.head.status == 200)
  }
}
