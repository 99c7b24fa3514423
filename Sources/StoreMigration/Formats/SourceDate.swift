internal import CacheFormat

enum SourceDate {
  /// Parses the form of FMDB and SQLite: seconds since 1970, or text in UTC. Returns `nil` for
  /// other values.
  static func unix(_ value: DatabaseValue) -> Timestamp? {
    switch value {
    case .integer(let seconds): Timestamp(seconds: Double(seconds))
    case .real(let seconds) where !seconds.isNaN: Timestamp(seconds: seconds)
    case .text(let text): parse(text)
    default: nil
    }
  }

  /// Parses the form of Core Data: seconds since 2001.
  static func sinceReference(_ value: DatabaseValue) -> Timestamp? {
    value.number.flatMap { Timestamp(secondsSince2001: $0) }
  }

  /// Parses `YYYY-MM-DD`, optionally with ` HH:MM:SS` and a fraction of a second, or with
  /// `THH:MM:SSZ`.
  private static func parse(_ text: [UInt8]) -> Timestamp? {
    guard text.count >= 10, text.count <= 29 else { return nil }
    let text = text.count == 10 ? text + Array("T00:00:00".utf8) : text
    guard text.count >= 19, text[10] == UInt8(ascii: " ") || text[10] == UInt8(ascii: "T") else {
      return nil
    }
    var fraction = text[19...]
    if fraction.last == UInt8(ascii: "Z") { fraction.removeLast() }
    guard fraction.isEmpty || (fraction.first == UInt8(ascii: ".") && fraction.count > 1) else {
      return nil
    }
    let digits = Array(fraction.dropFirst())
    guard digits.count <= 9 else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: 9 - digits.count)
    let second = text[..<10] + Array("T".utf8) + text[11..<19] + Array(".".utf8)
    return Timestamp(rfc3339: second + digits + zeros + Array("Z".utf8))
  }
}
