import ClientTesting
import ContentCoding
import Synchronization
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct CodingCheckTests {
  private typealias Answer = ScriptedTransport.Answer

  /// Raw deflate with blocks that are not compressed (RFC 1951, section 3.2.4).
  private static func deflated(_ blocks: [[UInt8]]) -> [UInt8] {
    blocks.indices.flatMap { index -> [UInt8] in
      let count = UInt16(blocks[index].count)
      let head = [count, ~count].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      return [index == blocks.count - 1 ? 1 : 0] + head + blocks[index]
    }
  }

  @Test func `a lack of memory is no damage`() {
    #expect(!ContentCodingError.outOfMemory.isDamage)
    #expect(ContentCodingError.damaged(coding: "gzip").isDamage)
    #expect(ContentCodingError.truncated(coding: "gzip").isDamage)
  }

  @Test func `a limit is that of the content, not of its coded form`() async throws {
    let blocks = pieces(Array(repeating: 40_000, count: 3))
    let sandbox = try ClientSandbox(Answer.coded("deflate", Self.deflated(blocks)))
    _ = try await sandbox.client.data(for: request())
    for (limit, isEnough) in [(120_000, true), (119_999, false), (Int.max, true)] {
      let stored = try #require(sandbox.client.storedAnswer(to: request()))
      let bytes = try? stored.storedBytes(limit: limit)
      #expect((bytes == blocks.flatMap(\.self)) == isEnough)
    }
  }

  @Test(arguments: [10, 40_000], [(true, true), (true, false), (false, true), (false, false)])
  func `a damaged transfer leaves the good copy in the store`(
    blockBytes: Int, how: (decodes: Bool, hasLength: Bool)
  ) async throws {
    let (decodes, hasLength) = how
    let blocks = pieces(Array(repeating: blockBytes, count: 3))
    let coded = { (bytes: [UInt8]) in
      var answer = Answer.coded("deflate", bytes, pieceBytes: 30_000)
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
    for (codings, coded) in [("deflate", inner), ("deflate, deflate", outer)] {
      let whole = try ClientSandbox(Answer.coded(codings, coded))
      #expect(try await whole.client.data(for: request()).bytes.count == 1 + 40_000 * 258)
      // The check would notice that the end is missing.
      let cut = try ClientSandbox(Answer.coded(codings, Array(coded.dropLast())))
      let options = FetchOptions(decodesContent: false)
      let result = try await cut.client.data(for: request(), options: options)
      #expect(result.response.body.storing.name == "stored")
    }
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
    let whole = try ClientSandbox(Answer.coded("deflate, deflate, deflate", outer))
    #expect(try await whole.client.data(for: request()).bytes == [0x61])
    // The check would notice that the end is missing.
    let cut = try ClientSandbox(Answer.coded("deflate, deflate, deflate", Array(outer.dropLast())))
    let options = FetchOptions(decodesContent: false)
    let result = try await cut.client.data(for: request(), options: options)
    #expect(result.response.body.storing.name == "stored")
  }

  @Test func `ends with the storing, whose purpose it serves`() async throws {
    let blocks = pieces(Array(repeating: 40_000, count: 5))
    let answer = Answer.coded("deflate", Self.deflated(blocks), pieceBytes: 50_000)
    for limit in [nil, 100_000] as [UInt64?] {
      let sandbox = try ClientSandbox(
        ScriptedTransport(answer), store: Options(limits: Limits(entryBytes: limit)))
      var answer = answer
      answer.fields.removeAll(named: "Content-Length")
      sandbox.transport.answer(answer)
      let response = try await sandbox.client.fetch(
        request(), options: FetchOptions(decodesContent: false))
      let reader = try #require(response.body.source as? SharedReader)
      func isChecked() -> Bool {
        reader.shared.coding.withLock { check in
          switch check {
          case .none: false
          case .some: true
          }
        }
      }
      #expect(isChecked())
      for _ in 0..<3 { _ = try await response.body.next() }
      #expect(isChecked() == (limit == nil))
    }
  }
}
