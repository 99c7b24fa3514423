/// The description of one entry; each property is decoded only when it is read.
///
/// It keeps the bytes of the entry's record, so a hit returns it without decoding anything.
public struct EntryInfo: Sendable, CustomStringConvertible {
  private let record: PutRecord

  /// The time of the last access; may be later than the one in the record.
  public let accessed: Timestamp

  /// The key and the length.
  public var description: String { "\(key), \(length) bytes" }

  package init(record: PutRecord, accessed: Timestamp) {
    self.record = record
    self.accessed = accessed
  }

  /// The full key.
  public var key: ByteString { record.key }

  /// A number that distinguishes the stored responses of one key; 0 if there is only one.
  public var variant: UInt64 { record.head.variant }

  /// The name of the body.
  public var digest: Digest { record.head.digest }

  /// The number of bytes of the body.
  public var length: UInt64 { record.head.length }

  /// The time at which the entry was stored.
  public var created: Timestamp { record.head.created }

  /// Whether the entry is exempt from eviction.
  public var isPinned: Bool { record.head.isPinned }

  /// The time at which the caller considers the entry expired; the store itself ignores it.
  public var expires: Timestamp? { record.head.expires }

  /// The status, 0 to 999.
  public var status: Int? { record.head.status }

  /// The header fields in their order; fields with the same name are separate elements.
  ///
  /// - Complexity: O(number of fields), decoded at each call.
  public var fields: [Field] { record.texts.fields }

  /// The user's own items.
  ///
  /// - Complexity: O(number of items), decoded at each call.
  public var userInfo: [Field] { record.texts.userInfo }

  /// The tags.
  ///
  /// - Complexity: O(number of tags), decoded at each call.
  public var tags: [ByteString] { record.texts.tags }

  /// The status, header fields, user items, tags and expiry.
  ///
  /// - Complexity: O(size of the metadata), decoded at each call.
  public var metadata: EntryMetadata { record.metadata }
}
