public import CacheFormat
public import HTTPSemantics

/// Makes the key of a request: what two requests must have in common to share a stored response.
///
/// `GET` and `HEAD` of one target have the same key (RFC 9111, section 2). Credentials of a URL are
/// no part of a `NormalizedURL`, so they are no part of a key.
public struct KeyRule: Sendable {
  private let text: @Sendable (HTTPRequest) -> String

  /// Makes a rule from a function that gives any text of 1 byte to 64 KiB less 4 bytes.
  ///
  /// Requests of equal text get one another's responses: leave out only what does not change them.
  public init(_ text: @escaping @Sendable (HTTPRequest) -> String) {
    self.text = text
  }

  /// Takes the whole normal URL.
  public static let url = KeyRule { $0.url.string }

  /// Takes the URL without some parameters of its query, such as the signature of a signed URL.
  ///
  /// A parameter is what stands between `&`; its name ends at `=`. The others keep their order.
  public static func url(ignoringQueryParameters names: Set<String>) -> KeyRule {
    names.isEmpty ? .url : KeyRule { without(names, $0.url.string) }
  }

  /// Returns the key in the store.
  public func key(of request: HTTPRequest) -> ByteString {
    ByteString("GET \(text(request))")
  }

  /// Returns the key of an answer to `HEAD` that came from another cache: it has no body, so it
  /// must not stand where the answer to a `GET` is looked for.
  func headKey(of request: HTTPRequest) -> ByteString {
    ByteString("\(Self.headPrefix)\(text(request))")
  }

  /// What such a key begins with.
  static let headPrefix = "HEAD "

  private static func without(_ names: Set<String>, _ url: String) -> String {
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let query = url[url.index(after: mark)...]
    let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { part in
      !names.contains(String(part.prefix { $0 != "=" }))
    }
    let base = url[..<mark]
    return kept.isEmpty ? String(base) : "\(base)?\(kept.joined(separator: "&"))"
  }
}
