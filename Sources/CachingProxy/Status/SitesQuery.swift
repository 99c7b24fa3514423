internal import CacheFormat
internal import HTTPSemantics

/// The query of the list of sites and of its buttons.
struct SitesQuery: Sendable, Hashable {
  /// The limit on what is read, in bytes.
  static let maximumBytes = 4096

  /// The part of a name that is searched for; empty for all.
  private(set) var search = ""
  /// The host, perhaps with a port, that is to be removed.
  private(set) var host: String?
  /// The proof that the list of sites is asking.
  private(set) var token: String?

  /// Reads a query such as `q=example&host=example.org`, as forms write it. A query that is too long
  /// is treated as empty.
  init(_ text: String) {
    guard text.utf8.count <= Self.maximumBytes else { return }
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = Self.decoded(pair.count > 1 ? pair[1] : "")
      switch pair[0] {
      case "q": search = value
      case "host": host = RequestHead.isAuthority(Array(value.utf8)) ? value : nil
      case "token": token = value
      default: break
      }
    }
  }

  /// The address of the list with this search.
  var list: String {
    search.isEmpty ? StatusPaths.sites : "\(StatusPaths.sites)?q=\(Self.encoded(search))"
  }

  /// The address that removes a host, for a form of the list with this search.
  func forgetting(_ host: String, token: String) -> String {
    "\(StatusPaths.forget)?host=\(Self.encoded(host))&token=\(token)&q=\(Self.encoded(search))"
  }

  /// Returns the beginnings of the keys of a host's entries.
  static func prefixes(of host: String) -> [ByteString] {
    ["GET", "HEAD"].flatMap { method in
      ["http", "https"].map { ByteString("\(method) \($0)://\(host)/") }
    }
  }

  private static func decoded(_ text: Substring) -> String {
    let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return String(decoding: PercentEncoding.decoded(bytes[...], isLax: true) ?? [], as: UTF8.self)
  }

  private static func encoded(_ text: String) -> String {
    PercentEncoding.escaped(text.utf8) { ASCII.isUnreserved($0) && !"_~".utf8.contains($0) }
  }
}
