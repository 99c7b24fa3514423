/// Holds one field line of a message (RFC 9110, section 5): a name and the bytes of a value.
public struct HTTPField: Sendable, Hashable, CustomStringConvertible {
  /// Gives the name as it was written; names are equal without regard to case.
  public var name: String

  /// Gives the value without the white space around it; need not be UTF-8.
  public var value: [UInt8]

  /// Makes a field from bytes; nothing is checked, see ``isValid``.
  public init(name: String, value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// Makes a field from text.
  public init(_ name: String, _ value: String) {
    self.init(name: name, value: Array(value.utf8))
  }

  /// Gives the value as text, with what is no UTF-8 replaced by U+FFFD.
  public var text: String {
    String(decoding: value, as: UTF8.self)
  }

  /// Gives the line as it stands in a message, as far as it is text.
  public var description: String { "\(name): \(text)" }

  /// Tells whether the name is this one, without regard to the case of letters.
  public func isNamed(_ other: String) -> Bool {
    ASCII.equalsIgnoringCase(name, other)
  }

  /// Tells whether the field can be sent: a token as name, no control characters but tab in the
  /// value (RFC 9110, sections 5.1 and 5.5), so that a value cannot become a second field.
  public var isValid: Bool {
    HTTPField.isToken(name) && value.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }

  /// Tells whether a text is a `token` (RFC 9110, section 5.6.2), as names and methods are.
  public static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(ASCII.isTokenByte)
  }
}
