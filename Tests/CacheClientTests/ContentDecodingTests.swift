import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct ContentDecodingTests {
  private typealias Answer = ScriptedTransport.Answer

  /// `hello hello hello` as gzip(1) writes it, and as zlib does (RFC 1952, RFC 1950).
  private static let gzip: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57,
    0xC8, 0x40, 0x90, 0x5C, 0x00, 0x3B, 0x7C, 0x8A, 0xDF, 0x12, 0x00, 0x00, 0x00,
  ]
  private static let deflate: [UInt8] = [
    0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0xC8, 0x40, 0x90, 0x5C, 0x00, 0x40, 0xB5, 0x06,
    0x87,
  ]
  private static let text = Array("hello hello hello\n".utf8)

  @Test(
    arguments: [("gzip", true), ("X-GZIP", true), ("deflate", false)])
  func `a coding is offered and taken off, from the network and from the store`(
    name: String, isGzip: Bool
  ) async throws {
    for pieceBytes in [Int.max, 1, 7] {
      let bytes = isGzip ? Self.gzip : Self.deflate
      let sandbox = try ClientSandbox(Answer.coded(name, bytes, pieceBytes: pieceBytes))
      for source in [ResponseSource.network, .memory] {
        let result = try await sandbox.client.data(for: request())
        #expect(result.bytes == Self.text)
        #expect((result.response.source == .network) == (source == .network))
        #expect(!result.response.head.fields.contains("Content-Encoding"))
        #expect(!result.response.head.fields.contains("Content-Length"))
        #expect(result.response.request.fields.isEmpty)
      }
      let sent = sandbox.transport.requests.map {
        $0.fields.first(named: "Accept-Encoding")?.text
      }
      #expect(sent == ["gzip, deflate"])
      let stored = try #require(sandbox.client.storedAnswer(to: request()))
      #expect(try await stored.body.next() == Self.text)
      guard
        case .hit(let entry) = sandbox.store.lookUp(
          "GET http://example.com/a", variant: stored.entry?.variant ?? 0)
      else {
        Issue.record("the coded bytes are not what is stored")
        return
      }
      #expect(entry.body == bytes)
    }
  }

  @Test
  func `who names codings, asks for a part or wants none taken off gets the bytes as they came`()
    async throws
  {
    let cases: [(HTTPFields, Bool)] = [
      ([HTTPField("Accept-Encoding", "gzip")], true), ([HTTPField("Range", "bytes=0-")], true),
      ([], false),
    ]
    for (fields, decodes) in cases {
      let sandbox = try ClientSandbox(Answer.coded("gzip", Self.gzip))
      let result = try await sandbox.client.data(
        for: request("/a", fields), options: FetchOptions(decodesContent: decodes))
      #expect(result.bytes == Self.gzip)
      #expect(result.response.head.fields.contains("Content-Encoding"))
      #expect(sandbox.transport.requests[0].fields == fields)
    }
  }

  @Test func `content that is coded although the request asked for none is decoded`() async throws {
    let sandbox = try ClientSandbox(Answer.coded("gzip", Self.gzip))
    let fields: HTTPFields = [HTTPField("Accept-Encoding", "identity")]
    #expect(try await sandbox.client.data(for: request("/a", fields)).bytes == Self.text)
    #expect(sandbox.transport.requests[0].fields == fields)
  }

  @Test func `an unknown coding is handed on as it came`() async throws {
    for name in ["br", "gzip, br", "compress", ""] {
      let sandbox = try ClientSandbox(Answer.coded(name, Self.gzip))
      let result = try await sandbox.client.data(for: request())
      #expect(result.bytes == Self.gzip)
    }
  }

  @Test func `what has no coding keeps the fields that describe its bytes`() async throws {
    for name in ["identity", ""] {
      let sandbox = try ClientSandbox(Answer.coded(name, Self.text))
      for _ in 0..<2 {
        let result = try await sandbox.client.data(for: request())
        #expect(result.bytes == Self.text)
        #expect(result.response.head.fields.first(named: "ETag")?.text == "\"1\"")
        #expect(result.response.head.fields.contentLength == UInt64(Self.text.count))
      }
    }
  }

  @Test func `damaged and cut coded bodies are errors, also from the store`() async throws {
    var flipped = Self.gzip
    flipped[Self.gzip.count - 6] ^= 1
    for (bytes, words) in [
      (flipped, "gzip data is damaged"), (Array(Self.gzip.dropLast()), "gzip data is cut short"),
      ([1, 2, 3], "gzip data is damaged"),
    ] {
      let sandbox = try ClientSandbox(Answer.coded("gzip", bytes))
      for _ in 0..<2 {
        let error = try #require(await sandbox.outcome(request()).error)
        #expect(error.description.contains("the body cannot be decoded (the \(words)"))
      }
      // Nothing of it stays, so that the next request fetches it.
      #expect(sandbox.store.statistics.entries == 0 && sandbox.transport.requests.count == 2)
      sandbox.transport.set { _ in .success(Answer.coded("gzip", Self.gzip)) }
      #expect(try await sandbox.client.data(for: request()).bytes == Self.text)
    }
  }

  @Test func `what is found damaged in the store is fetched again`() async throws {
    let sandbox = try ClientSandbox(Answer.coded("gzip", Self.gzip))
    let result = try await sandbox.client.data(for: request())
    guard case .stored(let info) = result.response.body.storing else {
      Issue.record("the answer is not stored")
      return
    }
    _ = try sandbox.store.put(
      [1, 2, 3], for: info.key, variant: info.variant, metadata: info.metadata)
    #expect(await sandbox.outcome(request()).error != nil)
    #expect(sandbox.store.statistics.entries == 0 && sandbox.transport.requests.count == 1)
    #expect(try await sandbox.client.data(for: request()).bytes == Self.text)
  }

  @Test func `answers without content are not decoded`() async throws {
    for status in [204, 304] {
      var answer = Answer(status: status, fields: [HTTPField("Content-Encoding", "gzip")])
      answer.pieces = []
      let sandbox = try ClientSandbox(answer)
      let asked = request("/a", [HTTPField("If-None-Match", "\"1\"")])
      let result = try await sandbox.client.data(for: asked)
      #expect(result.bytes.isEmpty)
      #expect(result.response.head.fields.contains("Content-Encoding"))
    }
    let sandbox = try ClientSandbox(Answer.coded("gzip", Self.gzip))
    let head = try await sandbox.client.fetch(request(method: "HEAD"))
    #expect(head.head.fields.contains("Content-Encoding"))
    #expect(try await head.body.next() == nil)
  }
}
