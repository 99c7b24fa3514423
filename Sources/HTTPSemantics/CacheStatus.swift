/// Says how a cache handled a request, as the `Cache-Status` field does (RFC 9211).
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
  /// Tells why a request went forward (RFC 9211, section 2.2).
  public enum Forward: String, Sendable, Hashable, CaseIterable {
    /// The cache was told not to handle the request.
    case bypass
    /// The semantics of the method require it.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// Something is stored for the URL, but selected by other request fields.
    case varyMiss = "vary-miss"
    /// Nothing stored could be used, for either of these reasons.
    case miss
    /// A fresh response is stored, but the directives of the request do not allow its use.
    case request
    /// The stored response is stale.
    case stale
    /// What is stored does not have all of the range that was asked for.
    case partial
  }

  /// The longest key or detail that is written, in bytes; longer ones are left out.
  public static let maximumTextLength = 1024

  /// Names the cache.
  public var cacheName: String

  /// Tells whether the request was satisfied without going forward; ``forward`` is ignored then.
  public var isHit: Bool

  /// Tells why the request went forward.
  public var forward: Forward?

  /// Gives the status of the answer from there, if it is not that of the answer to the client.
  public var forwardStatus: Int?

  /// Tells whether the answer from there was stored.
  public var isStored: Bool

  /// Tells whether the request shared the way forward with another one.
  public var isCollapsed: Bool

  /// Gives the seconds that the response stays fresh; negative if it is stale.
  public var ttl: Int64?

  /// Gives the cache key.
  public var key: String?

  /// Gives what else a person should know.
  public var detail: String?

  /// Makes a status that says nothing but the name of the cache.
  public init(cacheName: String, isHit: Bool = false, forward: Forward? = nil) {
    self.cacheName = cacheName
    self.isHit = isHit
    self.forward = forward
    isStored = false
    isCollapsed = false
  }

  /// Gives the value of a `Cache-Status` field, such as `OfflineCache; hit; ttl=30`.
  ///
  /// It is always an item with parameters of RFC 9651, whatever the texts hold.
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

  /// Bounds a number to the 15 digits that an integer may have (RFC 9651, section 3.3.1).
  private static func integer(_ number: Int64) -> Int64 {
    min(max(number, -999_999_999_999_999), 999_999_999_999_999)
  }

  /// Tells whether a text is a token (RFC 9651, section 3.3.4).
  private static func isToken(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) || first == UInt8(ascii: "*") else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      ASCII.isTokenByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }
  }

  /// Returns a string of RFC 9651, section 3.3.3, with `?` for what it cannot hold.
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
