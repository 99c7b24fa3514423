/// The file store.json at the root of a store (Docs/Format.md, "store.json"). It is written once,
/// when the store is created.
package struct StoreDescription: Sendable, Hashable {
  /// The format that is written, and the newest that can be read.
  package static let format: UInt64 = 1

  /// The maximum size of the document in bytes.
  package static let maximumBytes = 64 << 10

  /// The random identifier of a store.
  package struct ID: Sendable, Hashable, CustomStringConvertible {
    /// The upper half, written first.
    package var high: UInt64

    /// The lower half.
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    /// The 32 hex digits.
    package var description: String {
      Hexadecimal.string(high) + Hexadecimal.string(low)
    }
  }

  package var id: ID

  /// The secret seed of the hashes of keys and of the checksums of metadata. Because it is secret,
  /// nobody outside can choose keys that collide.
  package var hashSeed: UInt64

  package var created: Timestamp

  package init(id: ID, hashSeed: UInt64, created: Timestamp) {
    self.id = id
    self.hashSeed = hashSeed
    self.created = created
  }

  /// Returns whether a document describes a store, of this format or a newer one.
  package static func isDescription(_ bytes: [UInt8]) -> Bool {
    do throws(FormatError) {
      _ = try StoreDescription(decoding: bytes)
      return true
    } catch { return error.code == .newerFormat }
  }

  /// Returns the bytes of the document.
  package func encoded() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.append("{\n \"format\": 1,\n \"id\": ")
    writer.appendHex(high: id.high, low: id.low)
    writer.append(",\n \"hashSeed\": ")
    writer.appendHex(hashSeed)
    writer.append(",\n \"created\": \"")
    writer.appendTime(created)
    writer.append("\"")
    DocumentEnvelope.seal(&writer, seed: 0)
    return writer.bytes
  }

  /// Reads a document.
  ///
  /// - Throws: ``FormatError`` with `tooLarge`, `incomplete`, `wrongChecksum`, `newerFormat`,
  ///   `notJSON`, `missingMember`, `wrongType` or `outOfBounds`.
  package init(decoding bytes: [UInt8]) throws(FormatError) {
    var draft = Draft()
    let end = try DocumentEnvelope.read(
      bytes, maximumBytes: Self.maximumBytes, seed: 0
    ) { (reader, name) throws(FormatError) in
      try draft.read(name, from: &reader)
    }
    self = try draft.description(at: end)
  }
}

/// The members read so far. `format` must be the first, so that a newer document is recognised
/// before a member that its format may have changed.
private struct Draft {
  private var hasFormat = false
  private var id: Digest?
  private var hashSeed: UInt64?
  private var created: Timestamp?

  mutating func read(_ name: String, from reader: inout JSONReader) throws(FormatError) {
    guard name == "format" || hasFormat else {
      throw reader.error(.missingMember, "comes before \"format\", which must be first")
    }
    switch name {
    case "format":
      _ = reader.peek()
      let start = reader.offset
      try DocumentEnvelope.check(
        format: try reader.readUnsigned(), newest: StoreDescription.format, at: start)
      hasFormat = true
    case "id": id = try reader.readDigest()
    case "hashSeed": hashSeed = try reader.readHex()
    case "created": created = try reader.readTime()
    default: try reader.skipValue()
    }
  }

  func description(at end: Int) throws(FormatError) -> StoreDescription {
    guard hasFormat else { throw .missing("format", at: end) }
    guard let id else { throw .missing("id", at: end) }
    guard let hashSeed else { throw .missing("hashSeed", at: end) }
    guard let created else { throw .missing("created", at: end) }
    return StoreDescription(
      id: StoreDescription.ID(high: id.high, low: id.low), hashSeed: hashSeed, created: created)
  }
}
