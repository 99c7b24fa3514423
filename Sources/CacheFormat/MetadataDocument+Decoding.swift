// Decoding: the checksum first, then the JSON, then the members.

extension MetadataDocument {
  /// Reads a document.
  ///
  /// If `hashSeed` is given, the document must have that seed. Otherwise the seed in the document
  /// is used, which makes a tree without store.json readable.
  ///
  /// - Throws: ``FormatError`` with `tooLarge`, `incomplete`, `wrongChecksum`, `newerFormat`,
  ///   `foreignStore`, `notJSON`, `missingMember`, `wrongType` or `outOfBounds`, the last also for a
  ///   body that is not the one with this length and digest.
  /// - Complexity: O(size).
  package init(decoding bytes: [UInt8], hashSeed: UInt64? = nil) throws(FormatError) {
    let checksum = try DocumentEnvelope.writtenChecksum(
      of: bytes, maximumBytes: Self.maximumBytes)
    guard let preamble = Preamble(bytes) else {
      throw FormatError(.incomplete, "the document does not start with its format and seed")
    }
    try DocumentEnvelope.verify(bytes, against: checksum, seed: preamble.seed)
    try DocumentEnvelope.check(
      format: preamble.format, newest: Self.format, at: Preamble.start.count)
    if let hashSeed, hashSeed != preamble.seed {
      throw FormatError(
        .foreignStore, at: Preamble.start.count,
        "the document has the hash seed \(Hexadecimal.string(preamble.seed)),"
          + " the store \(Hexadecimal.string(hashSeed))")
    }
    var draft = Draft()
    let end = try JSONReader.readDocument(bytes) { (reader, name) throws(FormatError) in
      try draft.read(name, from: &reader)
    }
    self = try MetadataDocument(
      hashSeed: preamble.seed, entry: draft.entry(at: end), sequence: draft.sequence,
      body: draft.body)
    if let body,
      UInt64(body.count) != entry.length || !entry.digest.names(body, hashSeed: preamble.seed)
    {
      throw FormatError(.outOfBounds, "the body is not the one with this length and digest")
    }
  }
}

/// The start of a document, which is the same in all formats. It contains the seed of the checksum.
private struct Preamble {
  static let start = Array("{\n \"format\": ".utf8)
  private static let middle = Array(",\n \"seed\": \"".utf8)

  var format: UInt64 = 0
  var seed: UInt64

  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.start) else { return nil }
    // Nine digits are enough for any format number and cannot overflow.
    let digits = bytes[Self.start.count...].prefix(9).prefix { (48...57).contains($0) }
    let rest = bytes[digits.endIndex...]
    guard !digits.isEmpty, rest.starts(with: Self.middle) else { return nil }
    let seedDigits = rest.dropFirst(Self.middle.count).prefix(16)
    guard seedDigits.count == 16, let seed = Hexadecimal.parse(seedDigits) else { return nil }
    for digit in digits { format = format * 10 + UInt64(digit - 48) }
    self.seed = seed
  }
}

private struct Draft {
  private var key: ByteString?
  private var variant: UInt64?
  private var status: Int?
  private var fields: [Field]?
  private var userInfo: [Field]?
  private var tags: [ByteString]?
  private var created: Timestamp?
  private var accessed: Timestamp?
  private var expires: Timestamp?
  private var isPinned: Bool?
  private var digest: Digest?
  private var length: UInt64?
  private(set) var sequence: UInt64?
  private(set) var body: [UInt8]?

  /// Reads the value of a member, or skips it if the name is unknown.
  mutating func read(_ name: String, from reader: inout JSONReader) throws(FormatError) {
    switch name {
    case "key": key = try reader.readByteString()
    case "variant": variant = try reader.readHex()
    case "status": status = try Self.readStatus(from: &reader)
    case "fields": fields = try reader.readFields()
    case "userInfo": userInfo = try reader.readFields()
    case "tags": tags = try Self.readTags(from: &reader)
    case "created": created = try reader.readTime()
    case "accessed": accessed = try reader.readTime()
    case "expires": expires = try reader.readTime()
    case "pinned": isPinned = try reader.readBool()
    case "digest": digest = try reader.readDigest()
    case "length": length = try reader.readUnsigned()
    case "sequence": sequence = try reader.readHex()
    case "body": body = try reader.readByteString().bytes
    default: try reader.skipValue()
    }
  }

  private static func readTags(
    from reader: inout JSONReader
  ) throws(FormatError) -> [ByteString] {
    var tags: [ByteString] = []
    try reader.readArray(limit: MetadataDocument.maximumItems) { (reader) throws(FormatError) in
      tags.append(try reader.readByteString())
    }
    return tags
  }

  private static func readStatus(from reader: inout JSONReader) throws(FormatError) -> Int {
    _ = reader.peek()
    let start = reader.offset
    let status = try reader.readUnsigned()
    guard status <= 999 else {
      throw FormatError(.outOfBounds, at: start, "status \(status) is not between 0 and 999")
    }
    return Int(status)
  }

  func entry(at end: Int) throws(FormatError) -> StoredEntry {
    func required<Value>(_ value: Value?, _ name: String) throws(FormatError) -> Value {
      guard let value else { throw .missing(name, at: end) }
      return value
    }
    let metadata = EntryMetadata(
      status: status, fields: try required(fields, "fields"),
      userInfo: try required(userInfo, "userInfo"), tags: try required(tags, "tags"),
      expires: expires)
    return StoredEntry(
      key: try required(key, "key"), variant: try required(variant, "variant"),
      digest: try required(digest, "digest"), length: try required(length, "length"),
      created: try required(created, "created"), accessed: try required(accessed, "accessed"),
      isPinned: try required(isPinned, "pinned"), metadata: metadata)
  }
}
