/// All that the metadata file of an entry says, as values.
package struct StoredEntry: Sendable, Hashable {
  /// Holds the full key.
  package var key: ByteString

  /// Tells the stored responses of one key apart; 0 when there is only one.
  package var variant: UInt64

  /// Names the body.
  package var digest: Digest

  /// Counts the bytes of the body.
  package var length: UInt64

  /// Tells when the entry was stored.
  package var created: Timestamp

  /// Tells when the body was last asked for, as far as it is recorded.
  package var accessed: Timestamp

  /// Tells whether the entry is exempt from eviction.
  package var isPinned: Bool

  /// Holds what the caller said about the body.
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

  /// Gives the status of the metadata.
  package var status: Int? { metadata.status }

  /// Gives the header fields of the metadata.
  package var fields: [Field] { metadata.fields }

  /// Gives the user's items of the metadata.
  package var userInfo: [Field] { metadata.userInfo }

  /// Gives the tags of the metadata.
  package var tags: [ByteString] { metadata.tags }

  /// Gives the expiry of the metadata.
  package var expires: Timestamp? { metadata.expires }
}
