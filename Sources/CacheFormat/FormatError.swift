/// The reason why bytes are not a valid document, or why a value cannot be encoded as one.
package struct FormatError: Error, Sendable, Hashable {
  /// The kind of an error. New kinds may be added, so a `switch` needs a default.
  package struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind, such as `wrongChecksum`.
    package let description: String

    /// The advice for the user.
    package let remedy: String

    /// Creates a kind; two kinds with one name are equal.
    package init(_ name: String, remedy: String) {
      description = name
      self.remedy = remedy
    }

    /// Compares the names.
    package static func == (a: Code, b: Code) -> Bool { a.description == b.description }

    /// Feeds the name to the hasher.
    package func hash(into hasher: inout Hasher) { hasher.combine(description) }
  }

  /// The kind of error.
  package var code: Code

  /// The number of bytes before the place of the error; 0 if the error occurred while writing.
  package var offset: Int

  /// The description of the error, without the place and the remedy.
  package var detail: String

  /// Creates an error.
  package init(_ code: Code, at offset: Int = 0, _ detail: String) {
    self.code = code
    self.offset = offset
    self.detail = detail
  }
}

extension FormatError.Code {
  private static let damaged = "the file is damaged; `cachefsck --repair` sets it aside"

  /// The first or the last lines are missing: the file was cut, or it is another kind of file.
  package static let incomplete = Self("incomplete", remedy: damaged)

  /// The checksum does not match the bytes before it.
  package static let wrongChecksum = Self("wrongChecksum", remedy: damaged)

  /// The bytes are not JSON as in RFC 8259, or JSON that is refused: duplicate members, or values
  /// nested too deeply.
  package static let notJSON = Self("notJSON", remedy: damaged)

  /// A required member is missing.
  package static let missingMember = Self("missingMember", remedy: damaged)

  /// A member has a value of another type.
  package static let wrongType = Self("wrongType", remedy: damaged)

  /// A value has the right type but is outside the allowed range.
  package static let outOfBounds = Self(
    "outOfBounds", remedy: "use a value within the bounds; a file with this one is damaged")

  /// The document, or one of its collections, is larger than its limit.
  package static let tooLarge = Self(
    "tooLarge", remedy: "use fewer or shorter items; a file with these is damaged")

  /// The document was written by a newer version of this library.
  package static let newerFormat = Self(
    "newerFormat", remedy: "read it with the version that wrote it, or a later one")

  /// The document belongs to a store with another hash seed.
  package static let foreignStore = Self(
    "foreignStore", remedy: "move the file back to its own store, or remove it")
}

extension FormatError: CustomStringConvertible {
  /// The place, the description and the remedy in one line.
  package var description: String {
    "byte \(offset): \(detail) (\(code)); \(code.remedy)"
  }
}
