import CacheFormat
import CacheStore
import ClientTesting
import HTTPSemantics
import HTTPTransports
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

  private func coded(_ name: String, _ bytes: [UInt8], pieceBytes: Int = .max) -> Answer {
    var fields = fresh(tag: "1", vary: "Accept-Encoding")
    fields.append(HTTPField("Content-Encoding", name))
    fields.append(HTTPField("Content-Length", "\(bytes.count)"))
    let pieces = stride(from: 0, to: bytes.count, by: min(pieceBytes, bytes.count)).map { start in
      Array(bytes[start..<min(bytes.count, start + min(pieceBytes, bytes.count))])
    }
    return Answer(pieces, fields: fields)
  }

  @Test(
    arguments: [("gzip", true), ("X-GZIP", true), ("deflate", false)])
  func `a coding is offered and taken off, from the network and from the store`(
    name: String, isGzip: Bool
  ) async throws {
    for pieceBytes in [Int.max, 1, 7] {
      let bytes = isGzip ? Self.gzip : Self.deflate
      let sandbox = try ClientSandbox(coded(name, bytes, pieceBytes: pieceBytes))
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
      let sandbox = try ClientSandbox(coded("gzip", Self.gzip))
      let result = try await sandbox.client.data(
        for: request("/a", fields), options: FetchOptions(decodesContent: decodes))
      #expect(result.bytes == Self.gzip)
      #expect(result.response.head.fields.contains("Content-Encoding"))
      #expect(sandbox.transport.requests[0].fields == fields)
    }
  }

  @Test func `content that is coded although the request asked for none is decoded`() async throws {
    let sandbox = try ClientSandbox(coded("gzip", Self.gzip))
    let fields: HTTPFields = [HTTPField("Accept-Encoding", "identity")]
    #expect(try await sandbox.client.data(for: request("/a", fields)).bytes == Self.text)
    #expect(sandbox.transport.requests[0].fields == fields)
  }

  @Test func `an unknown coding is handed on as it came`() async throws {
    for name in ["br", "gzip, br", "compress", ""] {
      let sandbox = try ClientSandbox(coded(name, Self.gzip))
      let result = try await sandbox.client.data(for: request())
      #expect(result.bytes == Self.gzip)
    }
  }

  @Test func `damaged and cut coded bodies are errors, also from the store`() async throws {
    var flipped = Self.gzip
    flipped[Self.gzip.count - 6] ^= 1
    for (bytes, words) in [
      (flipped, "gzip data is damaged"), (Array(Self.gzip.dropLast()), "gzip data is cut short"),
      ([1, 2, 3], "gzip data is damaged"),
    ] {
      let sandbox = try ClientSandbox(coded("gzip", bytes))
      for _ in 0..<2 {
        let error = try #require(await sandbox.outcome(request()).error)
        #expect(error.description.contains("the body cannot be decoded (the \(words)"))
      }
      // Nothing of it stays, so that the next request fetches it.
      #expect(sandbox.store.statistics.entries == 0 && sandbox.transport.requests.count == 2)
      sandbox.transport.set { _ in .success(self.coded("gzip", Self.gzip)) }
      #expect(try await sandbox.client.data(for: request()).bytes == Self.text)
    }
  }

  /// Raw deflate with blocks that are not compressed (RFC 1951, section 3.2.4).
  private static func deflated(_ blocks: [[UInt8]]) -> [UInt8] {
    blocks.indices.flatMap { index -> [UInt8] in
      let count = UInt16(blocks[index].count)
      let head = [count, ~count].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      return [index == blocks.count - 1 ? 1 : 0] + head + blocks[index]
    }
  }

  @Test(arguments: [10, 40_000], [(true, true), (true, false), (false, true), (false, false)])
  func `a damaged transfer leaves the good copy in the store`(
    blockBytes: Int, how: (decodes: Bool, hasLength: Bool)
  ) async throws {
    let (decodes, hasLength) = how
    let blocks = pieces(Array(repeating: blockBytes, count: 3))
    let coded = { [self] (bytes: [UInt8]) in
      var answer = self.coded("deflate", bytes, pieceBytes: 30_000)
      if !hasLength { answer.fields.removeAll(named: "Content-Length") }
      return answer
    }
    let sandbox = try ClientSandbox(coded(Self.deflated(blocks)))
    var options = FetchOptions(decodesContent: decodes)
    let asked = request("/a", decodes ? [] : [HTTPField("Accept-Encoding", "gzip, deflate")])
    _ = try await sandbox.client.data(for: asked, options: options)
    options.policy = .reload
    var damaged = Self.deflated(blocks)
    damaged[2 * (5 + blockBytes) + 1] ^= 1
    for bytes in [damaged, Array(Self.deflated(blocks).dropLast())] {
      sandbox.transport.answer(coded(bytes))
      let response = try await sandbox.client.fetch(asked, options: options)
      if decodes {
        await #expect(throws: ClientError.self) {
          while try await response.body.next() != nil {}
        }
      } else {
        // The bytes are passed on as they came.
        #expect(try await sandbox.client.wholeBody(of: response) == bytes)
        #expect(response.body.storing.name == "damaged")
      }
      let stored = try await sandbox.client.data(
        for: request(), options: FetchOptions(policy: .offline))
      #expect(stored.bytes == Array(blocks.joined()))
      #expect(sandbox.store.statistics.entries == 1)
      await eventually { sandbox.staged.isEmpty }
    }
  }

  /// Raw deflate with fixed codes (RFC 1951, section 3.2.6): literals, then matches of 258 bytes at a
  /// distance of 1 (code 0), or of 13 (code 7 and two bits), then literals.
  private static func repeated(
    _ start: [UInt8], distanceBits: String, matches: Int, _ rest: [UInt8] = []
  ) -> [UInt8] {
    func literals(_ bytes: [UInt8]) -> String {
      bytes.map { byte in
        let code = byte < 144 ? 0x30 + Int(byte) : 0x190 + Int(byte) - 144
        let bits = String(code, radix: 2)
        return String(repeating: "0", count: (byte < 144 ? 8 : 9) - bits.count) + bits
      }.joined()
    }
    let match = "11000101" + distanceBits
    var bits = Array("110".utf8) + Array(literals(start).utf8)
    for _ in 0..<matches { bits += match.utf8 }
    bits += Array((literals(rest) + "0000000").utf8)
    return stride(from: 0, to: bits.count, by: 8).map { first in
      bits[first..<min(first + 8, bits.count)].reversed().reduce(0) { $0 << 1 | ($1 & 1) }
    }
  }

  @Test func `content that is far longer than its coding is stored without a check`() async throws {
    // 10 MB as 65 KB, and these as 722 bytes.
    let inner = Self.repeated([0x61], distanceBits: "00000", matches: 40_000)
    let matches = (inner.count - 20) / 258
    let outer = Self.repeated(
      Array(inner[..<15]), distanceBits: "0011100", matches: matches,
      Array(inner[(15 + matches * 258)...]))
    #expect(inner.count > 50 * outer.count)
    let whole = try ClientSandbox(coded("deflate, deflate", outer))
    #expect(try await whole.client.data(for: request()).bytes.count == 1 + 40_000 * 258)
    // The check would notice that the end is missing.
    let cut = try ClientSandbox(coded("deflate, deflate", Array(outer.dropLast())))
    let options = FetchOptions(decodesContent: false)
    let result = try await cut.client.data(for: request(), options: options)
    #expect(result.response.body.storing.name == "stored")
  }

  @Test func `content that takes far more work than its length shows is stored without a check`()
    async throws
  {
    // A MB of blocks without content, and one byte, as a few hundred bytes.
    let blocks = Array(repeating: [UInt8](), count: 200_000)
    let content = Self.deflated(blocks + [[0x61]] + Array(repeating: [], count: 12))
    let blockMatches = (5 * blocks.count - 5) / 258
    let inner = Self.repeated(
      Array(content[..<5]), distanceBits: "001000", matches: blockMatches,
      Array(content[(5 + blockMatches * 258)...]))
    // Four matches of 14 bits take 7 bytes.
    let matches = ((45 + 14 * blockMatches) / 8 - 13) / 258
    let outer = Self.repeated(
      Array(inner[..<13]), distanceBits: "001010", matches: matches,
      Array(inner[(13 + matches * 258)...]))
    #expect(content.count > 1_100 * outer.count)
    let whole = try ClientSandbox(coded("deflate, deflate, deflate", outer))
    #expect(try await whole.client.data(for: request()).bytes == [0x61])
    // The check would notice that the end is missing.
    let cut = try ClientSandbox(coded("deflate, deflate, deflate", Array(outer.dropLast())))
    let options = FetchOptions(decodesContent: false)
    let result = try await cut.client.data(for: request(), options: options)
    #expect(result.response.body.storing.name == "stored")
  }

  @Test func `what is found damaged in the store is fetched again`() async throws {
    let sandbox = try ClientSandbox(coded("gzip", Self.gzip))
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
    let sandbox = try ClientSandbox(coded("gzip", Self.gzip))
    let head = try await sandbox.client.fetch(request(method: "HEAD"))
    #expect(head.head.fields.contains("Content-Encoding"))
    #expect(try await head.body.next() == nil)
  }
}
