/// Tells why bytes are no binary property list that can be read.
package struct PropertyListError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the cause.
  package enum Cause: String, Sendable, Hashable {
    /// The bytes do not begin with `bplist0`, or there are fewer than header and trailer need.
    case notBinary = "no binary property list"
    /// A size, count or offset in the trailer does not fit the bytes.
    case badTrailer = "the trailer does not fit the bytes"
    /// A reference or an offset leads outside of the objects.
    case outside = "a reference leads outside"
    /// An object starts with a byte that stands for no type, or is not as long as it says.
    case badObject = "an object is malformed"
    /// Objects stand in one another too deep: a cycle, mostly.
    case tooDeep = "the objects nest too deep"
    /// More objects or bytes are referred to than the limits allow.
    case tooMuch = "there is more in it than is allowed"
    /// A value has another type than it must have there.
    case wrongType = "a value has the wrong type"
  }

  /// Names the cause.
  package let cause: Cause

  /// Counts the bytes before the place, where it is known.
  package let offset: Int?

  init(_ cause: Cause, at offset: Int? = nil) {
    self.cause = cause
    self.offset = offset
  }

  /// Says what is wrong, and where.
  package var description: String {
    offset.map { "\(cause.rawValue) (byte \($0))" } ?? cause.rawValue
  }
}
