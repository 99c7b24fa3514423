/// What a caller says about a body when it is stored; all of it may be changed later on without
/// writing the body again.
public struct EntryMetadata: Sendable, Hashable {
  /// Holds the status of an HTTP response, 0 to 999; nil when the body is no response.
  public var status: Int?

  /// Holds the header fields in their order; fields with the same name are kept apart.
  public var fields: [Field]

  /// Holds anything the user wants to keep with the body.
  public var userInfo: [Field]

  /// Names the groups the entry belongs to, for removal in one call.
  public var tags: [ByteString]

  /// Tells from when on the caller calls the body stale; the store itself never acts on it.
  public var expires: Timestamp?

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
    self.expires = expires
  }
}
