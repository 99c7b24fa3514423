/// The reason why bytes cannot be read as a binary property list.
package struct PropertyListError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Cause: String, Sendable, Hashable {
    /// The bytes do not begin with `bplist0`, or are shorter than header and trailer.
    case notBinary = "no binary property list"
    /// A size, count or offset in the trailer is inconsistent with the bytes.
    case badTrailer = "the trailer does not fit the bytes"
    /// A reference or an offset leads outside of the objects.
    case outside = "a reference leads outside"
    /// An object has an unknown type, or is shorter than its head states.
    case badObject = "an object is malformed"
    /// Objects are nested too deep, usually because of a cycle.
    case tooDeep = "the objects nest too deep"
    /// More objects or bytes are referred to than the limits allow.
    case tooMuch = "there is more in it than is allowed"
    case wrongType = "a value has the wrong type"
  }

  package let cause: Cause

  package let offset: Int?

  init(_ cause: Cause, at offset: Int? = nil) {
    self.cause = cause
    self.offset = offset
  }

  package var description: String {
    offset.map { "\(cause.rawValue) (byte \($0))" } ?? cause.rawValue
  }
}
