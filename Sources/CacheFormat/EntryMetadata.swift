/// The data that a caller stores along with a body. All of it can be changed later without writing
/// the body again.
public struct EntryMetadata: Sendable, Hashable {
  /// The status of an HTTP response, 0 to 999; `nil` if the body is not a response.
  public var status: Int?

  /// The header fields in their order; fields with the same name are separate elements.
  public var fields: [Field]

  /// Anything the user wants to keep with the body.
  public var userInfo: [Field]

  /// The groups that the entry belongs to; the entries of a group can be removed in one call.
  public var tags: [ByteString]

  /// The time from which the caller considers the body stale; the store itself ignores it. The format
  /// writes ``Timestamp/distantPast`` for none, so that time becomes the next nanosecond.
  public var expires: Timestamp? {
    didSet { expires = Self.storable(expires) }
  }

  /// The tag of spare entries, which are evicted first while they take more than a quarter of a
  /// store (Docs/Store.md).
  public static let spareTag: ByteString = "spare"

  package var isSpare: Bool { tags.contains(Self.spareTag) }

  /// Creates metadata.
  @inlinable
  public init(
    status: Int? = nil, fields: [Field] = [], userInfo: [Field] = [], tags: [ByteString] = [],
    expires: Timestamp? = nil
  ) {
    self.status = status
    self.fields = fields
    self.userInfo = userInfo
    self.tags = tags
    self.expires = Self.storable(expires)
  }

  @usableFromInline
  static func storable(_ expires: Timestamp?) -> Timestamp? {
    expires == .distantPast ? Timestamp(nanoseconds: .min + 1) : expires
  }
}
