/// Makes targets fit to be shown.
enum TargetText {
  /// How much of a target that was refused is shown, in bytes.
  static let maximumLength = 256

  /// Returns the beginning of a target as text, without what may be a name and password in it.
  static func withoutCredentials(_ target: [UInt8]) -> String {
    var shown = target[...]
    if let colon = firstIndex(of: "://", in: target) {
      let authority = target[(colon + 3)...].prefix { $0 != UInt8(ascii: "/") }
      if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        shown = target[..<(colon + 3)] + target[(at + 1)...]
      }
    } else if target.first != UInt8(ascii: "/"), let at = target.lastIndex(of: UInt8(ascii: "@")) {
      shown = target[(at + 1)...]
    }
    return String(decoding: shown.prefix(maximumLength), as: UTF8.self)
  }

  private static func firstIndex(of text: String, in bytes: [UInt8]) -> Int? {
    let pattern = Array(text.utf8)
    guard bytes.count >= pattern.count else { return nil }
    return (0...(bytes.count - pattern.count)).first { bytes[$0...].starts(with: pattern) }
  }
}
