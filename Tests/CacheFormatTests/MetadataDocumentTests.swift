import CacheFormat
import TestSupport
import Testing

@Suite struct MetadataDocumentTests {
  @Test func `the golden documents are written byte for byte`() throws {
    #expect(try goldenMetadata.encoded() == Array(goldenMetadataText.utf8))
    #expect(try goldenSmallMetadata.encoded() == Array(goldenSmallMetadataText.utf8))
  }

  @Test func `the golden documents are read`() throws {
    let bytes = Array(goldenMetadataText.utf8)
    #expect(try MetadataDocument(decoding: bytes, hashSeed: goldenSeed) == goldenMetadata)
    #expect(try MetadataDocument(decoding: bytes) == goldenMetadata)
    #expect(
      try MetadataDocument(decoding: Array(goldenSmallMetadataText.utf8)) == goldenSmallMetadata)
  }

  @Test func `a document of another store is refused`() {
    let error = #expect(throws: FormatError.self) {
      try MetadataDocument(decoding: Array(goldenMetadataText.utf8), hashSeed: 1)
    }
    #expect(error?.code == .foreignStore)
    #expect(error?.detail.contains("0123456789abcdef") == true)
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `random documents come back as they were`(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<25 {
      let document = randomDocument(using: &generator)
      let bytes = try document.encoded()
      #expect(try MetadataDocument(decoding: bytes, hashSeed: document.hashSeed) == document)
      #expect(String(validating: bytes, as: UTF8.self) != nil)
      let controls = bytes.filter { ($0 < 0x20 && $0 != 0x0a) || $0 == 0x7f }
      #expect(controls == [])
    }
  }

  @Test func `a document near the limit comes back, one above it is refused both ways`() throws {
    var document = goldenMetadata
    let room = MetadataDocument.maximumBytes - goldenMetadataText.utf8.count
    document.entry.key.bytes += [UInt8](repeating: 0x61, count: room)
    let bytes = try document.encoded()
    #expect(bytes.count == MetadataDocument.maximumBytes)
    #expect(try MetadataDocument(decoding: bytes) == document)
    document.entry.key.bytes.append(0x61)
    #expect(code { _ = try document.encoded() } == .tooLarge)
    #expect(code { _ = try MetadataDocument(decoding: bytes + [0x0a]) } == .tooLarge)
  }

  @Test func `a key of 1 MB that is no text comes back`() throws {
    var generator = SplitMix64(seed: 9)
    var document = goldenSmallMetadata
    document.entry.key.bytes = (0..<1 << 20).map { _ in
      UInt8(truncatingIfNeeded: generator.next())
    }
    #expect(try MetadataDocument(decoding: document.encoded()) == document)
  }

  @Test(arguments: [-1, 1000, Int.max, Int.min])
  func `a status out of bounds is not written`(status: Int) {
    var document = goldenMetadata
    document.entry.metadata.status = status
    #expect(code { _ = try document.encoded() } == .outOfBounds)
  }

  @Test func `counts are held to their limit`() throws {
    let limit = MetadataDocument.maximumItems
    var document = goldenMetadata
    document.entry.metadata.tags = Array(repeating: "", count: limit)
    document.entry.metadata.fields = Array(repeating: Field("", ""), count: limit)
    #expect(try MetadataDocument(decoding: document.encoded()) == document)
    for path in [\EntryMetadata.fields, \EntryMetadata.userInfo] {
      var large = goldenMetadata
      large.entry.metadata[keyPath: path] = Array(repeating: Field("", ""), count: limit + 1)
      #expect(code { _ = try large.encoded() } == .tooLarge)
    }
    document.entry.metadata.tags.append("")
    #expect(code { _ = try document.encoded() } == .tooLarge)
  }
}

private func code(_ body: () throws -> Void) -> FormatError.Code? {
  #expect(throws: FormatError.self, performing: body)?.code
}

private func randomDocument(using generator: inout SplitMix64) -> MetadataDocument {
  func time() -> Timestamp { Timestamp(nanoseconds: Int64(bitPattern: generator.next())) }
  func fields() -> [Field] {
    (0..<Int.random(in: 0...12, using: &generator)).map { _ in
      Field(randomString(using: &generator), randomString(using: &generator))
    }
  }
  let isBare = Int.random(in: 0..<4, using: &generator) == 0
  return MetadataDocument(
    hashSeed: generator.next(),
    entry: StoredEntry(
      key: randomString(using: &generator), variant: generator.next(),
      digest: Digest(high: generator.next(), low: generator.next()), length: generator.next(),
      created: time(), accessed: time(), isPinned: Bool.random(using: &generator),
      metadata: EntryMetadata(
        status: isBare ? nil : Int.random(in: 0...999, using: &generator), fields: fields(),
        userInfo: fields(),
        tags: (0..<Int.random(in: 0...5, using: &generator)).map { _ in
          randomString(using: &generator)
        },
        expires: isBare ? nil : time())))
}

/// Gives text, text with much to escape, or bytes that are mostly no text; sometimes nothing.
private func randomString(using generator: inout SplitMix64) -> ByteString {
  let length = Int.random(in: 0...40, using: &generator)
  let scalars: [Unicode.Scalar] = [
    "\"", "\\", "\0", "\n", "\r", "\t", "\u{1f}", "\u{7f}", "ä", "€", "😀", "\u{2028}", "/", "b",
  ]
  switch Int.random(in: 0..<3, using: &generator) {
  case 0:
    return ByteString(
      bytes: (0..<length).map { _ in UInt8.random(in: 0x20...0x7e, using: &generator) })
  case 1:
    var text = ""
    for _ in 0..<length { text.unicodeScalars.append(scalars.randomElement(using: &generator)!) }
    return ByteString(text)
  default:
    return ByteString(bytes: (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }
}
