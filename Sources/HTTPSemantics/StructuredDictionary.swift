/// A dictionary of structured field values (RFC 9651, section 3.2). Targeted cache-control fields
/// have this form.
///
/// Parsing is strict, as section 4.2 requires: a value with an error is not a dictionary at all.
package struct StructuredDictionary: Sendable, Hashable {
  /// The maximum number of members, which is the minimum that RFC 9651, section 3.2 requires.
  package static let maximumMembers = 1024

  /// The maximum length of a value in bytes: 64 KiB.
  package static let maximumLength = 64 * 1024

  /// A value without its parameters, because directives have none.
  package enum Value: Sendable, Hashable {
    /// At most 15 digits with a sign.
    case integer(Int64)
    case string(String)
    case token(String)
    /// Base 64 as it was written (RFC 4648, section 4).
    case byteSequence(String)
    case boolean(Bool)
    /// A decimal number, a date, a display string or an inner list, which no directive has.
    case other
  }

  package struct Member: Sendable, Hashable {
    /// The key; always in lower case.
    package let key: String
    /// The value; true if there is none.
    package var value: Value
  }

  /// The members in the order in which their keys first appeared, without duplicates.
  package let members: [Member]

  /// Reads the value of a field whose lines are joined with commas; `nil` if any part is invalid.
  ///
  /// An empty value is a dictionary without members. If a key is repeated, the last member counts.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.maximumLength else { return nil }
    var parser = StructuredFieldParser(bytes)
    guard let members = parser.dictionary() else { return nil }
    self.members = members
  }

  package subscript(key: String) -> Value? {
    members.first { $0.key == key }?.value
  }
}
