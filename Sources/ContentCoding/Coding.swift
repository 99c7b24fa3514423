/// The supported content codings (RFC 9110, section 8.4.1).
enum Coding: String, Sendable {
  case gzip
  case deflate

  /// Creates a coding from its name in a field; `nil` if the name is unknown.
  init?(_ name: String) {
    switch name.lowercased() {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    default: return nil
    }
  }
}
