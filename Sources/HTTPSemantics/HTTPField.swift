/// One field line of a message (RFC 9110, section 5): a name and the bytes of a value.
public struct HTTPField: Sendable, Hashable, CustomStringConvertible {
  /// The name as it was written; names are compared without regard to case.
  public var name: String

  /// The value without surrounding white space; it need not be UTF-8.
  public var value: [UInt8]

  /// Creates a field from bytes without checks; see ``isValid``.
  public init(name: String, value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// Creates a field from text.
  public init(_ name: String, _ value: String) {
    self.init(name: name, value: Array(value.utf8))
  }

  /// The value as text; bytes that are not UTF-8 are replaced by U+FFFD.
  public var text: String {
    String(decoding: value, as: UTF8.self)
  }

  /// The value as a reference to a URL. In one that is not UTF-8, each byte that is not ASCII is
  /// percent-encoded, as browsers do it: such a URL is served under these bytes.
  package var reference: String {
    String(validating: value, as: UTF8.self) ?? PercentEncoding.escaped(value) { $0 < 0x80 }
  }

  /// The field line, with the value as text.
  public var description: String { "\(name): \(text)" }

  /// Returns whether the name is `other`, without regard to case.
  public func isNamed(_ other: String) -> Bool {
    ASCII.equalsIgnoringCase(name, other)
  }

  /// Whether the field can be sent: the name is a token, and the value has no control characters
  /// except tab (RFC 9110, sections 5.1 and 5.5). So the value cannot be read as a second field.
  public var isValid: Bool {
    HTTPField.isToken(name) && value.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }

  /// Returns whether a text is a `token` (RFC 9110, section 5.6.2). Names and methods are tokens.
  public static func isToken(_ text: String) -> Bool {
    text.withUTF8Span { bytes in
      for index in bytes.indices where !ASCII.isTokenByte(bytes[index]) { return false }
      return !bytes.isEmpty
    }
  }
}
