/// Tells why bytes are not the document they should be, or why a value cannot become one.
package struct FormatError: Error, Sendable, Hashable {
  /// Says what kind of error it is; new kinds may be added, so a `switch` needs a default.
  package struct Code: Sendable, Hashable, CustomStringConvertible {
    /// Names the kind, as in `wrongChecksum`.
    package let description: String

    /// Tells what a person can do about it.
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

  /// Says what kind of error it is.
  package var code: Code

  /// Counts the bytes before the place where it was noticed; 0 when a value was to be written.
  package var offset: Int

  /// Says what is wrong, without the place and the remedy.
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

  /// The first or the last lines are missing: the file was cut, or is something else.
  package static let incomplete = Self("incomplete", remedy: damaged)

  /// The checksum does not fit the bytes before it.
  package static let wrongChecksum = Self("wrongChecksum", remedy: damaged)

  /// The bytes are not JSON as in RFC 8259, or JSON that is refused: members that stand twice,
  /// values nested too deep.
  package static let notJSON = Self("notJSON", remedy: damaged)

  /// A member that has to be there is not.
  package static let missingMember = Self("missingMember", remedy: damaged)

  /// A member has a value of another type.
  package static let wrongType = Self("wrongType", remedy: damaged)

  /// A value has the right type and lies outside what is allowed.
  package static let outOfBounds = Self(
    "outOfBounds", remedy: "keep to the bounds; a file that does not is damaged")

  /// The document, or something it counts, is larger than its limit.
  package static let tooLarge = Self(
    "tooLarge", remedy: "keep fewer or shorter items; a file that does not is damaged")

  /// The document was written by a newer version of this library.
  package static let newerFormat = Self(
    "newerFormat", remedy: "read it with the version that wrote it, or a later one")

  /// The document belongs to a store with another hash seed.
  package static let foreignStore = Self(
    "foreignStore", remedy: "move the file back to its own store, or remove it")
}

extension FormatError: CustomStringConvertible {
  /// Says the place, what is wrong and what to do, in one line.
  package var description: String {
    "byte \(offset): \(detail) (\(code)); \(code.remedy)"
  }
}
