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
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the value of a `Cache-Status` field, which is ASCII.
  package func append(to bytes: inout [UInt8]) {
    if Self.isToken(cacheName) {
      bytes += cacheName.utf8
    } else {
      Self.appendQuoted(cacheName, to: &bytes)
    }
    if isHit {
      bytes += "; hit".utf8
    } else if let forward {
      bytes += "; fwd=".utf8
      bytes += forward.rawValue.utf8
      if let forwardStatus {
        bytes += "; fwd-status=\(Self.integer(Int64(forwardStatus)))".utf8
      }
      if isStored { bytes += "; stored".utf8 }
      if isCollapsed { bytes += "; collapsed".utf8 }
    }
    if let ttl { bytes += "; ttl=\(Self.integer(ttl))".utf8 }
    Self.append("; key=", key, to: &bytes)
    Self.append("; detail=", detail, to: &bytes)
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

  private static func append(_ name: String, _ text: String?, to bytes: inout [UInt8]) {
    guard let text, text.utf8.count <= maximumTextLength else { return }
    bytes += name.utf8
    appendQuoted(text, to: &bytes)
  }

  /// Appends a string of RFC 9651, section 3.3.3; characters that it cannot contain are replaced by
  /// `?`.
  private static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      guard scalar.value >= 0x20, scalar.value < 0x7F, let byte = UInt8(exactly: scalar.value)
      else {
        bytes.append(UInt8(ascii: "?"))
        continue
      }
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        bytes.append(UInt8(ascii: "\\"))
      }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
