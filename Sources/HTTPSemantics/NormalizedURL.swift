/// An `http` or `https` URL in its normal form, in which equivalent URLs are equal.
///
/// The normal form is that of RFC 3986, sections 6.2.2 (syntax: case, percent-encoding, dot
/// segments) and 6.2.3 (scheme: default port, empty path). The fragment and the user-info are
/// removed. They are not sent to a server as part of the target, and they must not become part of a
/// cache key. A client with credentials sends an `Authorization` field.
///
/// The same text is the cache key and is sent to the server. So two URLs that share a stored
/// response also cause the same request. No other URLs are merged: `a%2Fb` is not `a/b`, an empty
/// query is not the same as no query, and the order of the query is kept.
public struct NormalizedURL: Sendable, Hashable, CustomStringConvertible {
  /// The maximum length of a URL in bytes, before and after normalisation: 64 KiB.
  public static let maximumLength = 64 * 1024

  /// The supported schemes.
  public enum Scheme: String, Sendable, Hashable {
    /// Without TLS.
    case http
    /// With TLS.
    case https

    /// The port of a URL that has none.
    public var defaultPort: Int {
      switch self {
      case .http: 80
      case .https: 443
      }
    }
  }

  /// The whole URL in its normal form; always ASCII.
  public let string: String

  /// The scheme.
  public let scheme: Scheme

  /// The host in lower case; an IPv6 address keeps its brackets.
  public let host: String

  /// The port; the default port of the scheme if the URL has none.
  public let port: Int

  /// The path and, if there is a query, `?` and the query; starts with `/`.
  public let target: String

  /// Normalises a URL.
  ///
  /// In path and query, bytes that are not allowed in a URL, such as spaces and letters outside
  /// ASCII, are percent-encoded, as browsers do. A `%` that starts no escape is encoded, too. In a
  /// host, such bytes are an error.
  ///
  /// - Throws: ``InvalidURL`` with the cause.
  /// - Complexity: O(*n*) in the length of the text.
  public init(_ text: String) throws(InvalidURL) {
    guard text.utf8.count <= Self.maximumLength else { throw InvalidURL(.tooLong, in: text) }
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw InvalidURL(.controlCharacter, in: text)
    }
    (scheme, host, port, target) = try Self.parts(of: text)
    var string = scheme.rawValue
    string.reserveCapacity(text.utf8.count + 1)
    string += "://"
    string += host
    if port != scheme.defaultPort { string += ":\(port)" }
    string += target
    self.string = string
    guard string.utf8.count <= Self.maximumLength else { throw InvalidURL(.tooLong, in: text) }
  }

  /// Returns the URL with the same server and another target: path and query, normalised.
  ///
  /// A target that already is in its normal form is used unchanged, which is the usual case.
  ///
  /// - Throws: ``InvalidURL`` if the target does not start with `/`, and the errors of
  ///   ``init(_:)``.
  /// - Complexity: O(*n*) in the length of the target.
  public func replacingTarget(_ target: String) throws(InvalidURL) -> NormalizedURL {
    let server = string.utf8.count - self.target.utf8.count
    guard Self.isNormal(target.utf8), server + target.utf8.count <= Self.maximumLength else {
      guard target.utf8.first == UInt8(ascii: "/") else { throw InvalidURL(.noHost, in: target) }
      return try NormalizedURL("\(Substring(string.utf8.prefix(server)))\(target)")
    }
    return NormalizedURL(self, normalTarget: target, server: server)
  }

  private init(_ other: NormalizedURL, normalTarget: String, server: Int) {
    scheme = other.scheme
    host = other.host
    port = other.port
    target = normalTarget
    string = "\(Substring(other.string.utf8.prefix(server)))\(normalTarget)"
  }

  /// The whole URL in its normal form.
  public var description: String { string }

  /// Compares the whole URLs; the parts follow from them.
  public static func == (left: NormalizedURL, right: NormalizedURL) -> Bool {
    left.string == right.string
  }

  /// Hashes the whole URL.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(string)
  }
}
