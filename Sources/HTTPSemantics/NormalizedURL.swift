/// Holds an `http` or `https` URL in its normal form, in which equivalent URLs are equal.
///
/// The form is that of RFC 3986, sections 6.2.2 (syntax: case, percent-encoding, dot segments) and
/// 6.2.3 (scheme: default port, empty path). The fragment and the user-info are left out: neither
/// is sent to a server as part of the target, and neither may divide or leak into a cache key. Who
/// needs credentials sends an `Authorization` field.
///
/// The same text is the cache key and what goes over the wire, so that two URLs that share a stored
/// response would also have asked for the same thing. Nothing beyond the RFC is merged: `a%2Fb` is
/// not `a/b`, `?` is not the absence of a query, and the order in a query stays.
public struct NormalizedURL: Sendable, Hashable, CustomStringConvertible {
  /// The longest URL that is accepted, in bytes, before and after normalisation: 64 KiB.
  public static let maximumLength = 64 * 1024

  /// Names the schemes that can be fetched.
  public enum Scheme: String, Sendable, Hashable {
    /// Without TLS.
    case http
    /// With TLS.
    case https

    /// Gives the port that is meant when none is written.
    public var defaultPort: Int {
      switch self {
      case .http: 80
      case .https: 443
      }
    }
  }

  /// Gives the whole URL in its normal form; always ASCII.
  public let string: String

  /// Gives the scheme.
  public let scheme: Scheme

  /// Gives the host in lower case; an IPv6 address keeps its brackets.
  public let host: String

  /// Gives the port, the scheme's default when none was written.
  public let port: Int

  /// Gives the path and, if there is one, `?` and the query; starts with `/`.
  public let target: String

  /// Normalises a URL.
  ///
  /// Bytes that may not stand in a URL, such as spaces and letters beyond ASCII, are
  /// percent-encoded in path and query, as browsers do; in a host they are an error. So is a
  /// `%` that starts no escape.
  ///
  /// - Throws: ``InvalidURL`` with the cause.
  /// - Complexity: O(*n*) in the length of the text.
  public init(_ text: String) throws(InvalidURL) {
    guard text.utf8.count <= Self.maximumLength else { throw InvalidURL(.tooLong, in: text) }
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw InvalidURL(.controlCharacter, in: text)
    }
    let parts = try URLParts(text)
    scheme = parts.scheme
    host = parts.host
    port = parts.port
    target = parts.target
    var string = parts.scheme.rawValue
    string.reserveCapacity(text.utf8.count + 1)
    string += "://"
    string += parts.host
    if parts.port != parts.scheme.defaultPort { string += ":\(parts.port)" }
    string += parts.target
    self.string = string
    guard string.utf8.count <= Self.maximumLength else { throw InvalidURL(.tooLong, in: text) }
  }

  /// Returns the URL of the same server with another target: path and query, normalised.
  ///
  /// A target that is in its normal form already, as nearly all are, is taken as it is.
  ///
  /// - Throws: ``InvalidURL`` if it does not start with `/`, or as ``init(_:)``.
  /// - Complexity: O(*n*) in the length of the target.
  public func replacingTarget(_ target: String) throws(InvalidURL) -> NormalizedURL {
    let server = string.utf8.count - self.target.utf8.count
    guard URLParts.isNormal(target.utf8), server + target.utf8.count <= Self.maximumLength else {
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

  /// Gives the whole URL in its normal form.
  public var description: String { string }

  /// Compares the whole URL; the parts follow from it.
  public static func == (left: NormalizedURL, right: NormalizedURL) -> Bool {
    left.string == right.string
  }

  /// Hashes the whole URL.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(string)
  }
}
