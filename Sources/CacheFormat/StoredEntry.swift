/// The contents of an entry's metadata file.
package struct StoredEntry: Sendable, Hashable {
  /// The full key.
  package var key: ByteString

  /// A number that distinguishes the stored responses of one key; 0 if there is only one.
  package var variant: UInt64

  /// The name of the body.
  package var digest: Digest

  /// The number of bytes of the body.
  package var length: UInt64

  /// The time at which the entry was stored.
  package var created: Timestamp

  /// The time of the last recorded access to the body.
  package var accessed: Timestamp

  /// Whether the entry is exempt from eviction.
  package var isPinned: Bool

  /// The status, header fields, user items, tags and expiry.
  package var metadata: EntryMetadata

  /// Creates the description of an entry.
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

  /// The status of the metadata.
  package var status: Int? { metadata.status }

  /// The header fields of the metadata.
  package var fields: [Field] { metadata.fields }

  /// The user's items of the metadata.
  package var userInfo: [Field] { metadata.userInfo }

  /// The tags of the metadata.
  package var tags: [ByteString] { metadata.tags }

  /// The expiry of the metadata.
  package var expires: Timestamp? { metadata.expires }
}
