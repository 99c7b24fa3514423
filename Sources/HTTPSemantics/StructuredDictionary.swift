/// Holds a dictionary of structured field values (RFC 9651, section 3.2), as targeted
/// cache-control fields are.
///
/// Parsing is strict, as section 4.2 requires: a value with one error in it is no dictionary at all.
package struct StructuredDictionary: Sendable, Hashable {
  /// The most members that are taken, as many as RFC 9651, section 3.2 asks for at least.
  package static let maximumMembers = 1024

  /// The longest value that is read, in bytes: 64 KiB.
  package static let maximumLength = 64 * 1024

  /// Holds a value without its parameters, which no directive has.
  package enum Value: Sendable, Hashable {
    /// At most 15 digits with a sign.
    case integer(Int64)
    /// The number itself is not kept, as with the other types that no directive has.
    case decimal
    case string(String)
    case token(String)
    /// In base 64, as it was written (RFC 4648, section 4).
    case byteSequence(String)
    case boolean(Bool)
    case date
    case displayString
    case innerList
  }

  /// Holds one member.
  package struct Member: Sendable, Hashable {
    /// Gives the key; always in lower case.
    package let key: String
    /// Gives the value, true where none was written.
    package var value: Value
  }

  /// Gives the members in the order in which their keys appeared first, each key once.
  package let members: [Member]

  /// Reads the value of a field, its lines joined with commas; nil unless all of it is valid.
  ///
  /// An empty value is a dictionary without members. Of two members with one key the last counts.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count <= Self.maximumLength else { return nil }
    var parser = StructuredFieldParser(end: bytes.count)
    guard let members = parser.dictionary(bytes) else { return nil }
    self.members = members
  }

  /// Returns the value of a key, or nil.
  package subscript(key: String) -> Value? {
    members.first { $0.key == key }?.value
  }
}
