package struct SourceBody: Sendable {
  enum Place: Sendable {
    /// A value in the database.
    case value(row: Int64)
    /// A file in the body folder.
    case file(name: [UInt8])
    /// Bytes that had to be decoded, so that they are in no file or value.
    case bytes([UInt8])
  }

  let place: Place

  /// The number of bytes in front of the body in the value or file.
  var offset: UInt64 = 0

  package internal(set) var length: UInt64

  /// Whether the body is its own file beside the database.
  package var isFile: Bool {
    if case .file = place { true } else { false }
  }
}
