/// One value of a row in SQLite, where columns have no types.
enum DatabaseValue {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  /// The text, with invalid UTF-8 replaced by U+FFFD, or `nil` for any other type.
  var string: String? {
    if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  var bytes: [UInt8]? {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes
    default: nil
    }
  }

  var integer: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }

  /// The number, which is never NaN, because SQLite stores that as NULL.
  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: nil
    }
  }
}
