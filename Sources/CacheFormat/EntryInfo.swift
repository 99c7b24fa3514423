/// All that is known of one entry, read from its record only as far as it is asked for.
///
/// A hit hands this out without decoding anything: the record's bytes are kept, and each property
/// reads what it needs from them.
public struct EntryInfo: Sendable {
  private let record: PutRecord

  /// Tells when the entry was last asked for; newer than what the record says.
  public let accessed: Timestamp

  /// Creates the description of an entry from its record.
  @inlinable
  package init(record: PutRecord, accessed: Timestamp) {
    self.init(record, accessed)
  }

  @usableFromInline
  init(_ record: PutRecord, _ accessed: Timestamp) {
    self.record = record
    self.accessed = accessed
  }

  /// Holds the full key.
  public var key: ByteString { record.key }

  /// Tells the stored responses of one key apart; 0 where there is only one.
  public var variant: UInt64 { record.head.variant }

  /// Names the body.
  public var digest: Digest { record.head.digest }

  /// Counts the bytes of the body.
  public var length: UInt64 { record.head.length }

  /// Tells when the entry was stored.
  public var created: Timestamp { record.head.created }

  /// Tells whether the entry is exempt from eviction.
  public var isPinned: Bool { record.head.isPinned }

  /// Tells when the caller's policy lets the entry end; the store does nothing about it.
  public var expires: Timestamp? { record.head.expires }

  /// Gives the status, 0 to 999.
  public var status: Int? { record.head.status }

  /// Gives the header fields, in order, duplicates apart.
  ///
  /// - Complexity: O(number of fields), decoded at each call.
  public var fields: [Field] { record.texts.fields }

  /// Gives the user's own items.
  ///
  /// - Complexity: O(number of items), decoded at each call.
  public var userInfo: [Field] { record.texts.userInfo }

  /// Gives the tags.
  ///
  /// - Complexity: O(number of tags), decoded at each call.
  public var tags: [ByteString] { record.texts.tags }

  /// Gives what the caller said about the body, all of it.
  ///
  /// - Complexity: O(size of the metadata), decoded at each call.
  public var metadata: EntryMetadata { record.metadata }
}
