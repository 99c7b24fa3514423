package import CacheFormat

/// Holds what a property list can hold, as plain values.
package indirect enum PropertyListValue: Sendable, Hashable {
  /// The null value.
  case null
  /// A Boolean.
  case bool(Bool)
  /// From -2^63 to 2^64 - 1, as CoreFoundation writes them.
  case integer(Int128)
  /// A floating-point number.
  case real(Double)
  /// A moment.
  case date(Timestamp)
  /// Bytes.
  case data([UInt8])
  /// Text.
  case string(String)
  /// An array, or a set in the order of the file.
  case array([PropertyListValue])
  /// A dictionary in the order of the file.
  case dictionary([PropertyListPair])

  /// Gives the text of a string.
  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// Gives an integer that fits; a Boolean is none.
  var integer: Int? {
    if case .integer(let number) = self { Int(exactly: number) } else { nil }
  }

  /// Gives a number that is no Boolean, never one that is none (NaN).
  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number) where !number.isNaN: number
    default: nil
    }
  }

  /// Gives the pairs of a dictionary.
  var pairs: [PropertyListPair]? {
    if case .dictionary(let pairs) = self { pairs } else { nil }
  }

  /// Gives the value of a dictionary's key; the first one where a key stands twice.
  ///
  /// - Complexity: O(pairs).
  subscript(_ key: String) -> PropertyListValue? {
    pairs?.first { $0.key == .string(key) }?.value
  }
}

/// Holds a key of a dictionary with its value.
package struct PropertyListPair: Sendable, Hashable {
  /// A string, but for hostile or odd lists.
  package var key: PropertyListValue
  /// The value of the key.
  package var value: PropertyListValue

  /// Makes a pair.
  package init(key: PropertyListValue, value: PropertyListValue) {
    self.key = key
    self.value = value
  }
}

/// Bounds what may be read from one property list, however its objects refer to one another.
struct PropertyListBudget {
  /// The longest list that is looked at, in bytes.
  static let maximumBytes = 16 << 20
  /// How deep values may stand in one another; recursion goes no deeper.
  static let maximumDepth = 32

  /// How many more objects may be visited; each counts as often as it is referred to.
  private(set) var objects = 200_000
  /// How many more bytes of strings and data may be copied.
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
