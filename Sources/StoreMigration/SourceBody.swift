/// Tells where the body of an entry is.
package struct SourceBody: Sendable {
  enum Place: Sendable {
    /// A value in the database.
    case value(row: Int64)
    /// A file of the body folder.
    case file(name: [UInt8])
    /// Bytes that stand nowhere as they are.
    case bytes([UInt8])
  }

  let place: Place

  /// How many bytes of the value or file come before it.
  var offset: UInt64 = 0

  /// The number of bytes.
  package internal(set) var length: UInt64

  /// Whether it is a file of its own beside the database.
  package var isFile: Bool {
    if case .file = place { true } else { false }
  }
}
