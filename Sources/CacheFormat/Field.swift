/// A name with a value: an HTTP header field, or one item of a user's own metadata.
///
/// Names are kept as they were given. The store neither compares them nor changes their case.
public struct Field: Sendable, Hashable {
  /// The name of the field.
  public var name: ByteString

  /// The value, without surrounding white space.
  public var value: ByteString

  /// Creates a field.
  @inlinable
  public init(_ name: ByteString, _ value: ByteString) {
    self.name = name
    self.value = value
  }
}

extension Field: CustomStringConvertible {
  /// `name: value`, for people.
  public var description: String { "\(name): \(value)" }
}
