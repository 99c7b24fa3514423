/// The reason why bytes are not a valid document, or why a value cannot be encoded as one.
package struct FormatError: Error, Sendable, Hashable {
  package enum Code: Sendable {
    /// The first or the last lines are missing: the file was cut, or it is another kind of file.
    case incomplete
    /// The checksum does not match the bytes before it.
    case wrongChecksum
    /// The bytes are not JSON as in RFC 8259, or JSON with duplicate members or nested too deeply.
    case notJSON
    case missingMember
    case wrongType
    /// A value has the right type but is outside the allowed range.
    case outOfBounds
    /// The document, or one of its collections, is larger than its limit.
    case tooLarge
    /// The document was written by a newer version of this library.
    case newerFormat
    /// The document belongs to a store with another hash seed.
    case foreignStore
  }

  package var code: Code

  /// The number of bytes before the place of the error; 0 if the error occurred while writing.
  package var offset: Int

  /// The description of the error, without the place.
  package var detail: String

  /// Whether the document may be whole for another store, or for a newer version of this library.
  package var isForeign: Bool { code == .newerFormat || code == .foreignStore }

  package init(_ code: Code, at offset: Int = 0, _ detail: String) {
    self.code = code
    self.offset = offset
    self.detail = detail
  }

  static func missing(_ name: String, at end: Int) -> FormatError {
    FormatError(.missingMember, at: end, "the member \"\(name)\" is missing")
  }
}

extension FormatError: CustomStringConvertible {
  package var description: String { "byte \(offset): \(detail) (\(code))" }
}
