/// The way in which a cache handled a request, for the `Cache-Status` field (RFC 9211).
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
  /// The reason why a request was forwarded (RFC 9211, section 2.2).
  public enum Forward: String, Sendable, Hashable, CaseIterable {
    /// The cache was configured not to handle the request.
    case bypass
    /// The semantics of the method require it.
    case method
    /// No response is stored for the URL.
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but they do not match the selecting fields of the request.
    case varyMiss = "vary-miss"
    /// No stored response could be used, for either of these reasons.
    case miss
    /// A fresh response is stored, but the directives of the request do not allow its use.
    case request
    /// The stored response is stale.
    case stale
    /// The stored response does not contain the whole range that was requested.
    case partial
  }

  /// The maximum length of a key or detail in bytes; longer ones are left out.
  public static let maximumTextLength = 1024

  /// The name of the cache.
  public var cacheName: String

  /// Whether the request was answered without forwarding; ``forward`` is ignored then.
  public var isHit: Bool

  /// The reason why the request was forwarded.
  public var forward: Forward?

  /// The status of the response to the forwarded request, if the client got another one.
  public var forwardStatus: Int?

  /// Whether the response to the forwarded request was stored.
  public var isStored: Bool

  /// Whether the request shared one forwarded request with another request.
  public var isCollapsed: Bool

  /// The seconds for which the response stays fresh; negative if it is stale.
  public var ttl: Int64?

  /// The cache key.
  public var key: String?

  /// Additional information for people.
  public var detail: String?

  /// Creates a status; the properties that are not parameters are not set.
  public init(cacheName: String, isHit: Bool = false, forward: Forward? = nil) {
    self.cacheName = cacheName
    self.isHit = isHit
    self.forward = forward
    isStored = false
    isCollapsed = false
  }

  /// The value of a `Cache-Status` field, such as `OfflineCache; hit; ttl=30`.
  ///
  /// It is a valid item with parameters of RFC 9651 for any texts.
  public var description: String {
    var text = Self.isToken(cacheName) ? cacheName : Self.quoted(cacheName)
    if isHit {
      text += "; hit"
    } else if let forward {
      text += "; fwd=" + forward.rawValue
      if let forwardStatus { text += "; fwd-status=\(Self.integer(Int64(forwardStatus)))" }
      if isStored { text += "; stored" }
      if isCollapsed { text += "; collapsed" }
    }
    if let ttl { text += "; ttl=\(Self.integer(ttl))" }
    if let key, key.utf8.count <= Self.maximumTextLength { text += "; key=" + Self.quoted(key) }
    if let detail, detail.utf8.count <= Self.maximumTextLength {
      text += "; detail=" + Self.quoted(detail)
    }
    return text
  }

  /// Clamps a number to the 15 digits that an integer may have (RFC 9651, section 3.3.1).
  private static func integer(_ number: Int64) -> Int64 {
    min(max(number, -999_999_999_999_999), 999_999_999_999_999)
  }

  /// Returns whether a text is a token (RFC 9651, section 3.3.4).
  private static func isToken(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) || first == UInt8(ascii: "*") else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      ASCII.isTokenByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }
  }

  /// Returns a string of RFC 9651, section 3.3.3; characters that it cannot contain are replaced by
  /// `?`.
  private static func quoted(_ text: String) -> String {
    var result: [UInt8] = [UInt8(ascii: "\"")]
    for scalar in text.unicodeScalars {
      guard scalar.value >= 0x20, scalar.value < 0x7F, let byte = UInt8(exactly: scalar.value)
      else {
        result.append(UInt8(ascii: "?"))
        continue
      }
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        result.append(UInt8(ascii: "\\"))
      }
      result.append(byte)
    }
    result.append(UInt8(ascii: "\""))
    return String(decoding: result, as: UTF8.self)
  }
}
