import CacheFormat
import MessageDigests
import TestSupport
import Testing

@testable import RemoteTier

struct SharedDocumentTests {
  private let now = Timestamp(nanoseconds: 3_000_000_000_000)
  private let secret = Machine.secret

  private func document(_ responses: [SharedResponse], generation: UInt64 = 3) -> SharedDocument {
    SharedDocument(
      namespace: "n", key: "GET http://a/", generation: generation, responses: responses)
  }

  private func encode(_ document: SharedDocument) -> [UInt8] {
    SignedDocument.encode(
      document.encoded(), bodies: [(Array(repeating: 1, count: 32), 4096)], secret: secret)
  }

  private func decode(_ bytes: [UInt8]) throws(FormatError) -> SharedDocument {
    try SharedDocument(decoding: try SignedDocument.decode(bytes, secret: secret))
  }

  @Test("the outer document has the form of an ActionResult")
  func golden() {
    let bytes = SignedDocument.encode(
      Array("{}".utf8), bodies: [(Array(repeating: 1, count: 32), 4096)], secret: secret)
    let code = MessageDigest.authenticationCode(of: Array("{}".utf8), key: secret, .sha256)
    let raw = Base64.encode(Array("\(code.hexadecimal)\n{}".utf8))
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "{\"outputFiles\":[{\"path\":\"0\",\"digest\":{\"hash\":\""
        + String(repeating: "01", count: 32)
        + "\",\"sizeBytes\":\"4096\"}}],\"stdoutRaw\":\"\(raw)\"}")
  }

  @Test("the inner documents are those of Docs/Format.md")
  func goldenInner() {
    var response = Machine.response([0xFF, 1], selecting: ["accept-language:de"], received: 18)
    response.form.tags = ["news"]
    let document = SharedDocument(
      namespace: "team", key: "GET https://example.org/", generation: 7, responses: [response])
    #expect(
      String(decoding: document.encoded(), as: UTF8.self) == """
        {"v": 1, "namespace": "team", "key": "GET https://example.org/", "generation": 7, \
        "variants": [{"selecting": ["accept-language:de"], "status": 200, "fields": [
          ["Cache-Control", "max-age=100"]
         ], "tags": ["news"], "digest": \
        "\(response.bodyDigest.hexadecimal)", "length": 2, "requested": 18, "received": 18, \
        "body": {"base64": "/wE="}}]}
        """)
    var purges = PurgeList()
    purges.add(.tag("news"), number: 6)
    purges.add(.prefix("GET https://a/"), number: 7)
    #expect(
      String(decoding: purges.encoded(namespace: "team"), as: UTF8.self) == """
        {"v": 1, "namespace": "team", "purge": [{"number": 6, "tag": "news"}, \
        {"number": 7, "prefix": "GET https://a/"}]}
        """)
  }

  @Test("what is written is read, bytes that are not text included")
  func roundTrip() throws {
    var response = Machine.response([0, 255, 13, 10], selecting: ["accept:a", "x"], received: 7)
    response.form.fields.append(Field("X", ByteString(bytes: [0xFF, 0x22])))
    response.form.tags = ["one", "two"]
    let document = document([response, Machine.response(Array(repeating: 9, count: 5000))])
    #expect(try decode(encode(document)) == document)
  }

  @Test("a server may write the outer document anew")
  func rewritten() throws {
    let document = document([Machine.response([1, 2, 3])])
    let text = String(decoding: encode(document), as: UTF8.self)
    let raw = text.split(separator: "\"stdoutRaw\":")[1].dropLast()
    let other =
      "\n{ \"exitCode\": 0, \"stdoutRaw\" : \(raw), \"executionMetadata\": {\"worker\": [null]} }\n"
    #expect(try decode(Array(other.utf8)) == document)
  }

  @Test("each changed byte is found, or changes nothing")
  func changedBytes() throws {
    let document = document([Machine.response([1, 2, 3])])
    let bytes = encode(document)
    for index in bytes.indices {
      for bit in [1, 32, 128] as [UInt8] {
        var changed = bytes
        changed[index] ^= bit
        if let read = try? decode(changed) { #expect(read == document, "byte \(index)") }
      }
    }
    for count in bytes.indices { #expect((try? decode(Array(bytes[..<count]))) == nil) }
  }

  @Test("another secret does not open it")
  func otherSecret() {
    #expect(throws: FormatError.self) {
      try SignedDocument.decode(
        encode(document([])), secret: Array("another secret of some length".utf8))
    }
  }

  @Test(
    "signed nonsense is refused",
    arguments: [
      "", "{}", "[]", "{\"v\":1}",
      "{\"v\":2,\"namespace\":\"n\",\"key\":\"k\",\"generation\":0,\"variants\":[]}",
      "{\"v\":1,\"namespace\":\"n\",\"key\":\"k\",\"generation\":-1,\"variants\":[]}",
      "{\"v\":1,\"namespace\":\"n\",\"key\":\"k\",\"generation\":0,\"variants\":[{}]}",
      variant("length", "9223372036854775808"), variant("length", "1e9"), variant("length", "-1"),
      variant("digest", "\"abc\""), variant("digest", "\"\(String(repeating: "zz", count: 32))\""),
      variant("status", "99"), variant("status", "1000"), variant("status", "18446744073709551615"),
      variant("received", "9223372036854775808"), variant("body", "\"longer\""),
      variant("fields", "[[\"a\"]]"), variant("fields", String(repeating: "[", count: 10_000)),
      variant("selecting", "[[\"a\"]]"), variant("status", nil), variant("digest", nil),
      variant("requested", nil), variant("received", nil),
    ])
  func nonsense(text: String) {
    let bytes = SignedDocument.encode(Array(text.utf8), bodies: [], secret: secret)
    #expect(throws: FormatError.self) { try decode(bytes) }
  }

  /// A document with one response, one member of which has another value, or is missing.
  private static func variant(_ name: String, _ value: String?) -> String {
    var members = [
      "selecting": "[]", "status": "200", "fields": "[]", "tags": "[]", "length": "0",
      "digest": "\"\(String(repeating: "00", count: 32))\"", "requested": "1", "received": "1",
    ]
    members[name] = value
    let text = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
    return "{\"v\":1,\"namespace\":\"n\",\"key\":\"k\",\"generation\":0,\"variants\":[{\(text)}]}"
  }

  @Test("10,000 responses are too many to read, and 32 are written")
  func manyResponses() throws {
    let responses = (0..<10_000).map {
      Machine.response([1], selecting: ["a:\($0)"], received: Int64($0))
    }
    #expect(throws: FormatError.self) { try decode(encode(document(responses))) }
    var grown = document([])
    for response in responses.prefix(100) {
      grown = try #require(grown.adding(response, seen: 0, purges: PurgeList(), now: now))
    }
    #expect(grown.responses.count == SharedDocument.maximumWritten)
    #expect(grown.responses.map(\.form.received.nanoseconds).min() == 68)
  }

  @Test("of each selection the response that was received last stays, in any order")
  func union() throws {
    let old = Machine.response([1], received: 10)
    let new = Machine.response([2], received: 20)
    let other = Machine.response([3], selecting: ["a:b"], received: 5)
    for order in [[old, new, other], [new, other, old], [other, new, old]] {
      var document = document([])
      for response in order {
        document = try #require(document.adding(response, seen: 0, purges: PurgeList(), now: now))
      }
      #expect(document.responses == [new, other])
    }
  }

  @Test("what was received in the future does not keep a later response out")
  func future() throws {
    let ahead = Machine.response([1], received: 2_000_000_000_000)
    let present = Machine.response([2], received: 20)
    let known = document([ahead])
    let before = Timestamp(nanoseconds: 1_000_000_000_000)
    let result = known.adding(present, seen: 0, purges: PurgeList(), now: before)
    #expect(result?.responses == [present])
    #expect(known.adding(present, seen: 0, purges: PurgeList(), now: now)?.responses == [ahead])
  }

  @Test("a purge removes what is older, and refuses what was requested before it")
  func purged() throws {
    var purges = PurgeList()
    purges.add(.tag("t"), number: 4)
    let tagged = Machine.response([1], tags: ["t"], received: 1)
    let plain = Machine.response([2], selecting: ["x"], received: 1)
    let document = document([tagged, plain], generation: 3)
    #expect(document.adding(tagged, seen: 3, purges: purges, now: now) == nil)
    let fresh = Machine.response([3], selecting: ["y"], received: 2)
    let result = try #require(document.adding(fresh, seen: 3, purges: purges, now: now))
    #expect(result.responses == [fresh, plain])
    #expect(result.generation == 4)
    #expect(
      document.adding(tagged, seen: 4, purges: purges, now: now)?.responses.contains(tagged) == true
    )
    // Although it was received first.
    let early = Machine.response([4], tags: ["t"], received: 0)
    #expect(
      document.adding(early, seen: 4, purges: purges, now: now)?.responses == [plain, early])
  }

  @Test("bytes of any kind never trap the reader", arguments: 0..<50)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let valid = document([Machine.response([1, 2])]).encoded()
    for _ in 0..<200 {
      var bytes = random.below(2) == 0 ? valid : random.bytes(random.below(300))
      for _ in 0..<random.below(8) where !bytes.isEmpty {
        bytes[random.below(bytes.count)] = Array("{}[]\",:0e\\u".utf8)[random.below(11)]
      }
      _ = try? SharedDocument(decoding: bytes)
      _ = try? PurgeList(decoding: bytes, namespace: "n")
      _ = try? decode(bytes)
      _ = try? decode(SignedDocument.encode(bytes, bodies: [], secret: secret))
    }
  }
}
