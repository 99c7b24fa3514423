/// The contents of an entry's metadata file.
package struct StoredEntry: Sendable, Hashable {
  package var key: ByteString

  /// A number that distinguishes the stored responses of one key; 0 if there is only one.
  package var variant: UInt64

  /// The name of the body.
  package var digest: Digest

  /// The number of bytes of the body.
  package var length: UInt64

  package var created: Timestamp

  /// The time of the last recorded access to the body.
  package var accessed: Timestamp

  /// Whether the entry is exempt from eviction.
  package var isPinned: Bool

  /// The status, header fields, user items, tags and expiry.
  package var metadata: EntryMetadata

  package init(
    key: ByteString, variant: UInt64 = 0, digest: Digest, length: UInt64, created: Timestamp,
    accessed: Timestamp, isPinned: Bool = false, metadata: EntryMetadata = EntryMetadata()
  ) {
    self.key = key
    self.variant = variant
    self.digest = digest
    self.length = length
    self.created = created
    self.accessed = accessed
    self.isPinned = isPinned
    self.metadata = metadata
  }

  package var status: Int? { metadata.status }

  package var fields: [Field] { metadata.fields }

  package var userInfo: [Field] { metadata.userInfo }

  package var tags: [ByteString] { metadata.tags }

  package var expires: Timestamp? { metadata.expires }
}
