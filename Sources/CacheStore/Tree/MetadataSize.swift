package import CacheFormat

/// The bytes that the metadata of an entry take, without those of its body.
package struct MetadataSize: Sendable, Hashable {
  /// The most bytes of the metadata file.
  package let file: UInt64
  /// The bytes of the record in the journal.
  package let record: UInt64

  /// Computes the size before the entry is stored. A file that certainly is short is not encoded.
  ///
  /// - Returns: `nil` if the metadata are too large for every store.
  package init?(_ key: ByteString, variant: UInt64, _ metadata: EntryMetadata, length: UInt64) {
    let time = Timestamp(nanoseconds: .max)
    let entry = StoredEntry(
      key: key, variant: variant, digest: Digest(hashing: []), length: length, created: time,
      accessed: time, metadata: metadata)
    let most = entry.documentBound
    if most <= 4096 {
      file = UInt64(most)
    } else {
      let document = MetadataDocument(hashSeed: .max, entry: entry, sequence: .max)
      guard let bytes = try? document.encoded() else { return nil }
      file = UInt64(bytes.count)
    }
    let record = PutRecord(entry, KeyHash(high: 0, low: 0), bodyFile: 0, overhead: 0)
    self.record = UInt64(record.bytes.count)
  }
}

extension StoredEntry {
  /// The most bytes of the metadata file, without the body.
  var documentBound: Int {
    var texts = key.bytes.count
    for item in fields { texts += item.name.bytes.count + item.value.bytes.count }
    for item in userInfo { texts += item.name.bytes.count + item.value.bytes.count }
    for tag in tags { texts += tag.bytes.count }
    // A byte takes six characters at most ("\\u001f"), and the names of members are short.
    return 1024 + 6 * texts + 64 * (fields.count + userInfo.count + tags.count)
  }
}
