import CacheFormat

/// Makes targets safe to show.
enum TargetText {
  /// The bytes of a refused target that are shown.
  static let maximumLength = 256

  /// Returns the beginning of a refused target as text, without a possible name and password.
  static func withoutCredentials(_ target: [UInt8]) -> String {
    let parts = HiddenCredentials(target)
    let shown = parts.map { $0.scheme + $0.rest } ?? target[...]
    return String(decoding: shown.prefix(maximumLength), as: UTF8.self)
  }
}
