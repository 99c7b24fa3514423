package import CacheFormat

// The bounds of keys, metadata and bodies.
extension Store {
  /// Throws an error if a key or its metadata exceed their bounds, or if the store is read-only.
  func check(_ key: ByteString, _ metadata: EntryMetadata) throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    try checkBounds(key, metadata)
  }

  /// Throws an error if a key, its metadata or the length of its body exceed their bounds. The
  /// store may be read-only.
  ///
  /// - Parameter length: the length of the body, which is compared with the limits.
  package func checkBounds(
    _ key: ByteString, _ metadata: EntryMetadata, length: UInt64 = 0
  ) throws(StoreError) {
    if length > 0 { try checkLength(length) }
    try Self.checkBounds(key, metadata, of: path)
  }

  /// Throws an error if a key or its metadata exceed the bounds of every store.
  ///
  /// - Parameter path: the path of the store, which may not exist.
  package static func checkBounds(
    _ key: ByteString, _ metadata: EntryMetadata, of path: String
  ) throws(StoreError) {
    if key.bytes.isEmpty {
      throw StoreError(
        .keyEmpty, path: path, cause: "the key is empty", remedy: "give it at least one byte")
    }
    if key.bytes.count > maximumKeyBytes {
      throw StoreError(
        .keyTooLong, path: path,
        cause: "the key has \(key.bytes.count) bytes, \(maximumKeyBytes) are allowed",
        remedy: "use a shorter key, such as a digest of it")
    }
    if let status = metadata.status, !(0...999).contains(status) {
      throw StoreError(
        .metadataTooLarge, path: path, cause: "the status \(status) is not between 0 and 999",
        remedy: "store it as user info")
    }
    try checkSize(of: metadata, key, path)
  }

  private static func checkSize(
    of metadata: EntryMetadata, _ key: ByteString, _ path: String
  ) throws(StoreError) {
    var bytes = key.bytes.count
    for field in metadata.fields { bytes += field.name.bytes.count + field.value.bytes.count + 8 }
    for item in metadata.userInfo { bytes += item.name.bytes.count + item.value.bytes.count + 8 }
    for tag in metadata.tags { bytes += tag.bytes.count + 4 }
    let items = max(metadata.fields.count, metadata.userInfo.count, metadata.tags.count)
    guard bytes <= maximumMetadataBytes, items <= PutRecord.maximumItems else {
      throw StoreError(
        .metadataTooLarge, path: path,
        cause:
          "key and metadata have \(bytes) bytes, \(maximumMetadataBytes) are allowed",
        remedy: "store less in fields, user info and tags")
    }
  }

  /// Throws an error if the limits do not allow a body of so many bytes, or if the volume has no room
  /// for it, even without all entries that may be evicted.
  ///
  /// - Throws: `entryTooLarge`, `noSpace`.
  public func checkBodyLength(_ length: UInt64) throws(StoreError) {
    try checkLength(length)
    try evictor.checkSpace(for: length, leaving: limits.freeBytes)
  }

  /// Throws `entryTooLarge` if the limits do not allow a body of this length. One of a spare entry must
  /// fit into the share of these.
  func checkLength(
    _ length: UInt64, _ limits: Limits? = nil, isSpare: Bool = false
  ) throws(StoreError) {
    let limits = limits ?? self.limits
    // A delegate may count in other units than bytes.
    let all = (evictor.delegate == nil ? limits.bytes : nil).map {
      isSpare ? $0 / Limits.spareParts : $0
    }
    let most = min(limits.entryBytes ?? .max, all ?? .max)
    if length > most {
      let isOfShare = isSpare && most == all
      throw StoreError(
        .entryTooLarge, path: path,
        cause: "the body has \(length) bytes or more, the limits allow \(most)"
          + (isOfShare ? " to an entry with the tag 'spare', 1/\(Limits.spareParts) of all" : ""),
        remedy: "raise the limits of the store")
    }
  }
}
