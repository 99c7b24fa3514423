/// Makes targets fit to be shown.
enum TargetText {
  /// How much of a target that was refused is shown, in bytes.
  static let maximumLength = 256

  /// Returns the beginning of a target as text, without what may be a name and password in it.
  ///
  /// The target was refused, so nobody knows what its parts are: all in front of the last `@` goes.
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
