/// All that the metadata file of an entry says, as values.
public struct StoredEntry: Sendable, Hashable {
  /// Holds the full key.
  public var key: ByteString

  /// Tells the stored responses of one key apart; 0 when there is only one.
  public var variant: UInt64

  /// Names the body.
  public var digest: Digest

  /// Counts the bytes of the body.
  public var length: UInt64

  /// Tells when the entry was stored.
  public var created: Timestamp

  /// Tells when the body was last asked for, as far as it is recorded.
  public var accessed: Timestamp

  /// Tells whether the entry is exempt from eviction.
  public var isPinned: Bool

  /// Holds what the caller said about the body.
  public var metadata: EntryMetadata

  /// Creates the description of an entry.
  @inlinable
  public init(
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
  @inlinable
  public var status: Int? { metadata.status }

  /// Gives the header fields of the metadata.
  @inlinable
  public var fields: [Field] { metadata.fields }

  /// Gives the user's items of the metadata.
  @inlinable
  public var userInfo: [Field] { metadata.userInfo }

  /// Gives the tags of the metadata.
  @inlinable
  public var tags: [ByteString] { metadata.tags }

  /// Gives the expiry of the metadata.
  @inlinable
  public var expires: Timestamp? { metadata.expires }
}
