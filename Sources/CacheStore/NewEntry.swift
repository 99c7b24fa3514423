package import CacheFormat
internal import CacheSystem

/// Where the bytes of a body come from.
enum BodySource {
  case bytes([UInt8])
  /// A file in the staging directory.
  case staged(PathName, Session)
}

/// The times of an entry that another cache has kept before.
///
/// Neither is later than now when the entry has been stored: what is to come is taken for now. Such
/// an entry takes its place in the order of eviction by its time, and never the place of one that
/// was asked for later.
package struct Past: Sendable, Hashable {
  /// When it was stored there; nil: it counts as stored now.
  package var created: Timestamp?
  /// When it was asked for last.
  package var accessed: Timestamp

  /// Creates the times.
  package init(created: Timestamp?, accessed: Timestamp) {
    self.created = created
    self.accessed = accessed
  }
}

/// What is to be stored.
struct NewEntry {
  var key: ByteString
  var variant: UInt64
  var metadata: EntryMetadata
  var digest: Digest
  var length: UInt64
  var body: BodySource
  /// nil: it is stored now.
  var past: Past? = nil
}

/// An entry on its way in: the values that its record and its metadata file share.
struct Draft {
  var head: PutHead
  var key: ByteString
  var metadata: EntryMetadata

  /// The record, ready to be placed.
  var record: PutRecord { PutRecord(head: head, key: key, metadata: metadata) }

  /// The bytes of the metadata file.
  ///
  /// - Parameter sequence: the least number that the record can have.
  func document(hashSeed: UInt64, sequence: UInt64) throws(StoreError) -> [UInt8] {
    let entry = StoredEntry(
      key: key, variant: head.variant, digest: head.digest, length: head.length,
      created: head.created, accessed: head.accessed, isPinned: head.isPinned, metadata: metadata)
    do throws(FormatError) {
      return try MetadataDocument(hashSeed: hashSeed, entry: entry, sequence: sequence)
        .encoded()
    } catch {
      throw StoreError(
        .metadataTooLarge, path: key.description, cause: error.detail,
        remedy: "store less in fields, user info and tags")
    }
  }
}

extension Store {
  /// Refuses keys and metadata that are out of bounds.
  func check(_ key: ByteString, _ metadata: EntryMetadata) throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    try checkBounds(key, metadata)
  }

  /// The same for a store that nothing is to be written to.
  ///
  /// - Parameter length: that of the body, which the limits may not allow.
  package func checkBounds(
    _ key: ByteString, _ metadata: EntryMetadata, length: UInt64 = 0
  ) throws(StoreError) {
    try checkLength(length, path)
    if key.bytes.isEmpty {
      throw StoreError(
        .keyEmpty, path: path, cause: "the key is empty", remedy: "give it at least one byte")
    }
    if key.bytes.count > Self.maximumKeyBytes {
      throw StoreError(
        .keyTooLong, path: path,
        cause: "the key has \(key.bytes.count) bytes, \(Self.maximumKeyBytes) are allowed",
        remedy: "use a shorter key, such as a digest of it")
    }
    if let status = metadata.status, !(0...999).contains(status) {
      throw StoreError(
        .metadataTooLarge, path: path, cause: "the status \(status) is not between 0 and 999",
        remedy: "store it as user info")
    }
    try checkSize(of: metadata, key)
  }

  private func checkSize(of metadata: EntryMetadata, _ key: ByteString) throws(StoreError) {
    var bytes = key.bytes.count
    for field in metadata.fields { bytes += field.name.bytes.count + field.value.bytes.count + 8 }
    for item in metadata.userInfo { bytes += item.name.bytes.count + item.value.bytes.count + 8 }
    for tag in metadata.tags { bytes += tag.bytes.count + 4 }
    let items = max(metadata.fields.count, metadata.userInfo.count, metadata.tags.count)
    guard bytes <= Self.maximumMetadataBytes, items <= PutRecord.maximumItems else {
      throw StoreError(
        .metadataTooLarge, path: path,
        cause:
          "key and metadata have \(bytes) bytes, \(Self.maximumMetadataBytes) are allowed",
        remedy: "store less in fields, user info and tags")
    }
  }

  /// Tells in advance whether the limits allow a body of so many bytes.
  ///
  /// - Throws: `entryTooLarge`.
  public func checkBodyLength(_ length: UInt64) throws(StoreError) {
    try checkLength(length, path)
  }

  /// Refuses bodies that the limits do not allow.
  func checkLength(_ length: UInt64, _ place: String) throws(StoreError) {
    let limits = limits
    // A delegate may count in other units than bytes.
    let all = sizeDelegate.delegate == nil ? limits.bytes : nil
    let most = min(limits.entryBytes ?? .max, all ?? .max)
    if length > most {
      throw StoreError(
        .entryTooLarge, path: place,
        cause: "the body has \(length) bytes or more, the limits allow \(most)",
        remedy: "raise the limits of the store")
    }
  }
}
