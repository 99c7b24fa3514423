/// Makes targets safe to show.
enum TargetText {
  /// The bytes of a refused target that are shown.
  static let maximumLength = 256

  /// Returns the beginning of a target as text, without a possible name and password.
  ///
  /// The target was refused, so its parts are not known: everything in front of the last `@` is
  /// removed.
  static func withoutCredentials(_ target: [UInt8]) -> String {
    var shown = target[...]
    if let at = target.lastIndex(of: UInt8(ascii: "@")) {
      let scheme = target.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "@") }
      let isURL =
        scheme.last == UInt8(ascii: ":") && target[scheme.endIndex...].starts(with: "//".utf8)
      shown = (isURL ? scheme + Array("//".utf8) : []) + target[(at + 1)...]
    }
    return String(decoding: shown.prefix(maximumLength), as: UTF8.self)
  }
}
