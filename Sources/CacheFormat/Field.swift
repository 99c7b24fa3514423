/// A name with a value: an HTTP header field, or one item of a user's own metadata.
///
/// Names are kept as they were given; the store compares nothing and folds no case.
public struct Field: Sendable, Hashable {
  /// Names the field.
  public var name: ByteString

  /// Holds the value, without surrounding white space of any protocol.
  public var value: ByteString

  /// Creates a field.
  @inlinable
  public init(_ name: ByteString, _ value: ByteString) {
    self.name = name
    self.value = value
  }
}

extension Field: CustomStringConvertible {
  /// Gives `name: value` for people.
  public var description: String { "\(name): \(value)" }
}
