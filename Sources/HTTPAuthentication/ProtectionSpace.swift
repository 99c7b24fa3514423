public import HTTPSemantics

/// The place that a remembered credential belongs to: an origin, a realm (RFC 9110, section 11.5),
/// and an authentication scheme.
///
/// The scheme is a part of it because a password that was given for Digest must not be sent with
/// Basic, which shows it to the server, without another question.
public struct ProtectionSpace: Sendable, Hashable {
  /// The scheme of the URL.
  public let urlScheme: NormalizedURL.Scheme
  /// The host in lower case; an IPv6 address has brackets.
  public let host: String
  /// The port.
  public let port: Int
  /// The realm; empty if the server states none.
  public let realm: String
  /// The authentication scheme.
  public let scheme: AuthenticationChallenge.Scheme

  /// Creates the space of a URL's origin.
  public init(url: NormalizedURL, realm: String, scheme: AuthenticationChallenge.Scheme) {
    self.init(
      urlScheme: url.scheme, host: url.host, port: url.port, realm: realm, scheme: scheme)
  }

  init(
    urlScheme: NormalizedURL.Scheme, host: String, port: Int, realm: String,
    scheme: AuthenticationChallenge.Scheme
  ) {
    self.urlScheme = urlScheme
    self.host = host
    self.port = port
    self.realm = realm
    self.scheme = scheme
  }

  /// Returns whether it belongs to the origin of a URL.
  func isAtOrigin(of url: NormalizedURL) -> Bool {
    urlScheme == url.scheme && host == url.host && port == url.port
  }
}
