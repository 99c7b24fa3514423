/// The metadata file of one entry, `<variant>.json` (Docs/Format.md, "The metadata file").
///
/// It is JSON for people, for repair and for other tools; a lookup reads the record in the journal
/// instead. The checksum detects files that are incomplete or were changed.
package struct MetadataDocument: Sendable, Hashable {
  /// The newest format that can be read. It is written for a document with a body, and otherwise 1.
  package static let format: UInt64 = 2

  package static let maximumBytes = 8 << 20

  /// The maximum number of header fields, of user items, and of tags, each on its own.
  package static let maximumItems = PutRecord.maximumItems

  /// The hash seed of the store that the entry belongs to.
  package var hashSeed: UInt64

  package var entry: StoredEntry

  /// The lowest sequence number that the entry's record in the journal can have; `nil` if the
  /// document does not contain it. A journal that ends before this number has lost records.
  package var sequence: UInt64?

  /// The body of a small entry; `nil` if it is in a file of its own.
  package var body: [UInt8]?

  /// Creates a document.
  ///
  /// - Parameters:
  ///   - hashSeed: the hash seed of the store.
  ///   - entry: the contents of the entry.
  ///   - sequence: the lowest sequence number that the record of the entry can have.
  ///   - body: the body, with the length and the digest in `entry`; `nil` if it has a file.
  package init(
    hashSeed: UInt64, entry: StoredEntry, sequence: UInt64? = nil, body: [UInt8]? = nil
  ) {
    self.hashSeed = hashSeed
    self.entry = entry
    self.sequence = sequence
    self.body = body
  }
}

// Encoding.
extension MetadataDocument {
  /// Returns the bytes of the document.
  ///
  /// - Throws: ``FormatError`` with `outOfBounds` for a status outside 0 to 999, `tooLarge` for too
  ///   many items or bytes. Every document that is returned can be read again.
  /// - Complexity: O(size), with one allocation in the usual case.
  package func encoded() throws(FormatError) -> [UInt8] {
    try checkBounds()
    var writer = JSONWriter(capacity: estimatedBytes)
    writer.append("{\n \"format\": ")
    writer.append(body == nil ? "1" : "2")
    writer.append(",\n \"seed\": ")
    writer.appendHex(hashSeed)
    writer.append(",\n \"key\": ")
    writer.appendString(entry.key)
    writer.append(",\n \"variant\": ")
    writer.appendHex(entry.variant)
    writeMetadata(to: &writer)
    writeState(to: &writer)
    DocumentEnvelope.seal(&writer, seed: hashSeed)
    guard writer.bytes.count <= Self.maximumBytes else {
      throw FormatError(
        .tooLarge, "the metadata takes \(writer.bytes.count) bytes, over \(Self.maximumBytes)")
    }
    return writer.bytes
  }

  private func writeMetadata(to writer: inout JSONWriter) {
    if let status = entry.status {
      writer.append(",\n \"status\": ")
      writer.appendInteger(UInt64(status))
    }
    writer.append(",\n \"fields\": ")
    writer.appendFields(entry.fields)
    writer.append(",\n \"userInfo\": ")
    writer.appendFields(entry.userInfo)
    writer.append(",\n \"tags\": [")
    var isFirst = true
    for tag in entry.tags {
      if !isFirst { writer.append(", ") }
      writer.appendString(tag)
      isFirst = false
    }
    writer.append("]")
  }

  private func writeState(to writer: inout JSONWriter) {
    writer.append(",\n \"created\": \"")
    writer.appendTime(entry.created)
    writer.append("\",\n \"accessed\": \"")
    writer.appendTime(entry.accessed)
    if let expires = entry.expires {
      writer.append("\",\n \"expires\": \"")
      writer.appendTime(expires)
    }
    writer.append("\",\n \"pinned\": ")
    writer.append(entry.isPinned ? "true" : "false")
    writer.append(",\n \"digest\": ")
    writer.appendHex(high: entry.digest.high, low: entry.digest.low)
    writer.append(",\n \"length\": ")
    writer.appendInteger(entry.length)
    if let sequence {
      // A fixed length, so that the size of the file does not depend on the number.
      writer.append(",\n \"sequence\": ")
      writer.appendHex(sequence)
    }
    if let body {
      writer.append(",\n \"body\": ")
      writer.appendString(ByteString(bytes: body))
    }
  }

  private func checkBounds() throws(FormatError) {
    if let status = entry.status, !(0...999).contains(status) {
      throw FormatError(.outOfBounds, "status \(status) is not between 0 and 999")
    }
    let limit = Self.maximumItems
    for (name, count) in [
      ("fields", entry.fields.count), ("userInfo", entry.userInfo.count),
      ("tags", entry.tags.count),
    ] where count > limit {
      throw FormatError(.tooLarge, "\(name) has \(count) elements, over \(limit)")
    }
  }

  /// The estimated size of the document if few characters need an escape.
  private var estimatedBytes: Int {
    var count = 480 + entry.key.count + (body?.count ?? 0) * 4 / 3
    for field in entry.fields { count += field.name.count + field.value.count + 16 }
    for field in entry.userInfo { count += field.name.count + field.value.count + 16 }
    for tag in entry.tags { count += tag.count + 8 }
    return count
  }
}
