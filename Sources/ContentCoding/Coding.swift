/// The supported content codings (RFC 9110, section 8.4.1).
enum Coding: String, Sendable {
  case gzip
  case deflate
  case identity

  /// Creates a coding from its name in a field; `nil` if the name is unknown.
  init?(_ name: String) {
    let bytes = name.utf8.drop { $0 == 0x20 || $0 == 0x09 }
    let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }
    let trimmed = end.map { String(bytes[...$0]) ?? name } ?? ""
    switch trimmed.lowercased() {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "identity", "": self = .identity
    default: return nil
    }
  }
}
