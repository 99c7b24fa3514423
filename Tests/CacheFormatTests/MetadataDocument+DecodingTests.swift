import CacheFormat
import TestSupport
import Testing

/// Seals a text of one's own like a document, so that the checksum lets it pass to the JSON reader.
private func sealed(_ text: String, seed: UInt64 = goldenSeed) -> [UInt8] {
  let bytes = Array(text.utf8)
  let checksum = Hexadecimal.string(Checksum.of(bytes, seed: seed))
  return bytes + Array(",\n \"checksum\": \"\(checksum)\"\n}\n".utf8)
}

/// The golden document without its last member, with one text in it replaced.
private func changed(_ old: String, to new: String) throws -> [UInt8] {
  let parts = goldenMetadataText.split(separator: old, omittingEmptySubsequences: false)
  try #require(parts.count == 2, "\(old) must stand once in the document")
  let text = parts[0] + new + parts[1]
  let end = try #require(text.ranges(of: ",\n \"checksum\"").last)
  return sealed(String(text[..<end.lowerBound]))
}

private func decodingError(_ bytes: [UInt8]) -> FormatError? {
  do throws(FormatError) {
    _ = try MetadataDocument(decoding: bytes, hashSeed: goldenSeed)
    return nil
  } catch {
    return error
  }
}

@Suite struct MetadataDocumentDecodingTests {
  @Test func `every flip of one bit is noticed`() {
    let bytes = Array(goldenMetadataText.utf8)
    for index in bytes.indices {
      for bit in 0..<8 {
        var damaged = bytes
        damaged[index] ^= 1 << bit
        let code = decodingError(damaged)?.code
        #expect(code == .wrongChecksum || code == .incomplete, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func `every other value of a byte is noticed`() {
    let bytes = Array(goldenSmallMetadataText.utf8)
    for index in bytes.indices {
      var damaged = bytes
      for value in UInt8.min...UInt8.max where value != bytes[index] {
        damaged[index] = value
        if (try? MetadataDocument(decoding: damaged)) != nil {
          Issue.record("byte \(index) as \(value) was accepted")
        }
      }
    }
  }

  @Test func `every cut is an incomplete document`() {
    let bytes = Array(goldenMetadataText.utf8)
    for count in 0..<bytes.count {
      #expect(decodingError(Array(bytes[..<count]))?.code == .incomplete, "\(count) bytes")
    }
  }

  @Test(arguments: ["\n", " ", "\0", "}", goldenMetadataText])
  func `bytes after the end are noticed`(tail: String) {
    #expect(decodingError(Array((goldenMetadataText + tail).utf8)) != nil)
  }

  @Test func `a tail of zeros is an incomplete document`() {
    let bytes = Array(goldenMetadataText.utf8)
    for count in [1, 100, 300] {
      let zeroed = bytes.dropLast(count) + [UInt8](repeating: 0, count: count)
      #expect(decodingError(Array(zeroed))?.code == .incomplete)
    }
  }

  @Test func `the untouched document passes this file's own sealing`() throws {
    #expect(try changed("\"variant\"", to: "\"variant\"") == Array(goldenMetadataText.utf8))
  }

  @Test(
    arguments: [
      (" \"status\": 200", " \"status\": 1000", .outOfBounds),
      (" \"status\": 200", " \"status\": -1", .wrongType),
      (" \"status\": 200", " \"status\": null", .wrongType),
      (" \"status\": 200", " \"status\": \"200\"", .wrongType),
      ("\"length\": 0", "\"length\": 18446744073709551616", .outOfBounds),
      ("\"length\": 0", "\"length\": 0.0", .wrongType),
      ("\"length\": 0", "\"length\": 00", .notJSON),
      ("\"pinned\": true", "\"pinned\": 1", .wrongType),
      ("\"pinned\": true", "\"pinned\": tru", .notJSON),
      ("\"00000000000000ff\"", "\"ff\"", .outOfBounds),
      ("\"00000000000000ff\"", "\"00000000000000FF\"", .outOfBounds),
      ("\"00000000000000ff\"", "255", .wrongType),
      ("\"99aa06d3", "\"99AA06d3", .outOfBounds),
      ("2026-12-20T00", "2026-02-30T00", .outOfBounds),
      ("2026-12-20T00", "9999-12-20T00", .outOfBounds),
      ("[\"docs\", \"web\"]", "{}", .wrongType),
      ("[\"docs\", \"web\"]", "[\"docs\", 1]", .wrongType),
      ("[\"docs\", \"web\"]", "[\"docs\",]", .notJSON),
      ("[\"content-type\", \"text/html\"]", "[\"content-type\"]", .wrongType),
      ("[\"content-type\", \"text/html\"]", "[]", .wrongType),
      ("[\"content-type\", \"text/html\"]", "[\"a\", \"b\", \"c\"]", .tooLarge),
      ("[\"content-type\", \"text/html\"]", "\"content-type\"", .wrongType),
      ("/wB/gA==", "/wB/gA=", .outOfBounds),
      ("\"base64\":", "\"base65\":", .missingMember),
      ("\"note\"", "\"no\\q\"", .notJSON),
      ("\"note\"", "\"\\ud800\"", .notJSON),
      ("\"note\"", "\"\t\"", .notJSON),
      (" \"variant\":", " \"key\":", .notJSON),
      (" \"status\": 200", " \"status\": 200, \"status\": 200", .notJSON),
      (" \"pinned\": true", " \"x\": {\"a\": 1, \"a\": 1},\n \"pinned\": true", .notJSON),
      (
        " \"pinned\": true",
        " \"x\": [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]],\n \"pinned\": true",
        .notJSON
      ),
      (" \"pinned\": true", " \"pinned\": true}, {\"x\": 0", .notJSON),
      ("\"format\": 1", "\"format\": 3", .newerFormat),
      ("\"format\": 1", "\"format\": 999999999", .newerFormat),
      ("\"format\": 1", "\"format\": 0", .outOfBounds),
      ("\"format\": 1", "\"format\": 1234567890", .incomplete),
      ("\"format\": 1", "\"format\": x", .incomplete),
      ("\"format\": 1", "\"format\":  1", .incomplete),
      ("\"format\": 1", "\"format\": 01", .notJSON),
    ] as [(String, String, FormatError.Code)])
  func `a sealed document with a wrong value is refused`(
    old: String, new: String, code: FormatError.Code
  ) throws {
    #expect(decodingError(try changed(old, to: new))?.code == code)
  }

  @Test(arguments: [
    "key", "variant", "fields", "userInfo", "tags", "created", "accessed", "pinned", "digest",
    "length",
  ])
  func `a member that is missing is named`(member: String) throws {
    let error = decodingError(try changed(" \"\(member)\":", to: " \"\(member)X\":"))
    #expect(error?.code == .missingMember)
    #expect(error?.detail == "the member \"\(member)\" is missing")
  }

  @Test(arguments: ["status", "expires"])
  func `a member that may be missing is nil then`(member: String) throws {
    let bytes = try changed(" \"\(member)\":", to: " \"\(member)X\":")
    let metadata = try MetadataDocument(decoding: bytes).entry.metadata
    #expect((member == "status") == (metadata.status == nil))
    #expect((member == "expires") == (metadata.expires == nil))
  }

  @Test(arguments: [
    "1", "-1.5e3", "null", "\"\\ud83d\\ude00\"", "[[], {\"a\": [true, false]}]", "{}",
    "{\"base64\": 0}",
  ])
  func `a member that is not known is skipped`(value: String) throws {
    let bytes = try changed(" \"pinned\": true", to: " \"later\": \(value),\n \"pinned\": true")
    #expect(try MetadataDocument(decoding: bytes) == goldenMetadata)
  }

  @Test func `members may stand in another order and with other white space`() throws {
    let bytes = try changed(" \"pinned\": true", to: "\t\"pinned\" :true\r\n")
    #expect(try MetadataDocument(decoding: bytes) == goldenMetadata)
  }

  @Test func `text that is no UTF-8 is refused where it stands`() throws {
    var bytes = Array(try changed("\"note\"", to: "\"nXte\"").dropLast(36))
    let place = try #require(bytes.firstIndex(of: UInt8(ascii: "X")))
    bytes[place] = 0xff
    let checksum = Hexadecimal.string(Checksum.of(bytes, seed: goldenSeed))
    bytes += Array(",\n \"checksum\": \"\(checksum)\"\n}\n".utf8)
    #expect(decodingError(bytes) == FormatError(.notJSON, at: place, "the text is not UTF-8"))
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `sealed noise is refused without a crash`(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let alphabet = Array("{}[]\":,\\u0dDe+-.19 tfn\n".utf8)
    for _ in 0..<200 {
      let noise = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator)!
      }
      let start = "{\n \"format\": 1,\n \"seed\": \"0123456789abcdef\","
      let bytes = sealed(start + String(decoding: noise, as: UTF8.self))
      #expect(decodingError(bytes) != nil)
    }
  }

  @Test(arguments: ["\"", "\\", "{", "}", "[", "]", ",", ":", "0", "9", "-", "e", " ", "\0"])
  func `a sealed document with any byte replaced is refused or can be written again`(
    byte: String
  ) throws {
    let end = try #require(goldenMetadataText.ranges(of: ",\n \"checksum\"").last).lowerBound
    let original = Array(goldenMetadataText[..<end].utf8)
    for index in original.indices {
      var bytes = original
      bytes[index] = Array(byte.utf8)[0]
      let document = sealed(String(decoding: bytes, as: UTF8.self))
      guard let accepted = try? MetadataDocument(decoding: document) else { continue }
      #expect(try MetadataDocument(decoding: accepted.encoded()) == accepted, "byte \(index)")
    }
  }
}
