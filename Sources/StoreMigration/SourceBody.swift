/// Tells where the body of an entry is.
public struct SourceBody: Sendable {
  enum Place: Sendable {
    /// A value in the database; `offset` bytes of it are no body.
    case value(row: Int64, offset: UInt64)
    /// A file of the body folder.
    case file(name: [UInt8])
    case bytes([UInt8])
  }

  let place: Place

  /// The number of bytes.
  public let length: UInt64

  /// Whether it is a file of its own beside the database.
  public var isFile: Bool {
    if case .file = place { true } else { false }
  }
}
