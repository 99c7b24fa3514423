package import CacheFormat

package indirect enum PropertyListValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// From -2^63 to 2^64 - 1, as CoreFoundation writes them.
  case integer(Int128)
  case real(Double)
  case date(Timestamp)
  case data([UInt8])
  case string(String)
  /// An array, or a set in the order of the file.
  case array([PropertyListValue])
  /// A dictionary in the order of the file.
  case dictionary([PropertyListPair])

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The integer, if the value is one that fits; a Boolean is not an integer.
  var integer: Int? {
    if case .integer(let number) = self { Int(exactly: number) } else { nil }
  }

  /// The number, if the value is an integer or a real, but not a Boolean; never NaN.
  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number) where !number.isNaN: number
    default: nil
    }
  }

  var pairs: [PropertyListPair]? {
    if case .dictionary(let pairs) = self { pairs } else { nil }
  }

  /// Returns the value for a key of a dictionary; the first one if a key occurs twice.
  subscript(_ key: String) -> PropertyListValue? {
    pairs?.first { $0.key == .string(key) }?.value
  }
}

package struct PropertyListPair: Sendable, Hashable {
  /// The key, a string except in hostile or unusual lists.
  package var key: PropertyListValue
  package var value: PropertyListValue
}

/// The limits for reading one property list, however its objects refer to one another.
struct PropertyListBudget {
  /// The limit on the length of a list, in bytes.
  static let maximumBytes = 16 << 20
  /// The limit on the nesting of values; recursion goes no deeper.
  static let maximumDepth = 32

  /// The number of objects that may still be visited; each counts as often as it is referred to.
  private(set) var objects = 200_000
  /// The number of bytes of strings and data that may still be copied.
  private(set) var bytes = maximumBytes

  mutating func spend(objects count: Int) throws(PropertyListError) {
    guard count <= objects else { throw PropertyListError(.tooMuch) }
    objects -= count
  }

  mutating func spend(bytes count: Int) throws(PropertyListError) {
    guard count <= bytes else { throw PropertyListError(.tooMuch) }
    bytes -= count
  }
}
