public import CacheFormat
public import HTTPSemantics

/// A rule for the key of a request. Requests with the same key can share a stored response.
///
/// `GET` and `HEAD` of one target have the same key (RFC 9111, section 2). A `NormalizedURL` has no
/// credentials, so they are not part of a key.
public struct KeyRule: Sendable {
  private let text: @Sendable (HTTPRequest) -> String

  /// Creates a rule from a function that returns a text of 1 byte to 64 KiB less 5 bytes.
  ///
  /// Requests with equal texts share their responses, so the text must contain everything that
  /// changes the response.
  public init(_ text: @escaping @Sendable (HTTPRequest) -> String) {
    self.text = text
  }

  /// The rule that uses the whole normalised URL.
  public static let url = KeyRule { $0.url.string }

  /// Returns the rule that uses the URL without some parameters of its query, such as the signature
  /// of a signed URL.
  ///
  /// Parameters are separated by `&`, and their names end at `=`. The other parameters keep their
  /// order.
  public static func url(ignoringQueryParameters names: Set<String>) -> KeyRule {
    names.isEmpty ? .url : KeyRule { without(names, $0.url.string) }
  }

  /// Returns the key in the store.
  public func key(of request: HTTPRequest) -> ByteString {
    ByteString("GET \(text(request))")
  }

  /// Returns the key of a response to `HEAD` from another cache. It has no body, so it must not be
  /// found as a response to `GET`.
  func headKey(of request: HTTPRequest) -> ByteString {
    ByteString("\(Self.headPrefix)\(text(request))")
  }

  static let headPrefix = "HEAD "

  /// Returns whether a key is that of a response; others are of programs without HTTP.
  package static func isOfResponse(_ key: ByteString) -> Bool { counterpart(of: key) != nil }

  /// Returns the key of a response to `HEAD` for the key of one to `GET`, and the other way round, also
  /// for the beginning of such a key; `nil` for other keys.
  package static func counterpart(of key: ByteString) -> ByteString? {
    let prefixes = [ByteString("GET "), ByteString(headPrefix)]
    for (own, other) in [(prefixes[0], prefixes[1]), (prefixes[1], prefixes[0])]
    where key.hasPrefix(own) {
      return ByteString(bytes: other.bytes + key.bytes.dropFirst(own.count))
    }
    return nil
  }

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
