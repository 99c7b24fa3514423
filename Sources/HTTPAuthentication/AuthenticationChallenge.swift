public import HTTPSemantics

/// A server's request for credentials.
public struct AuthenticationChallenge: Sendable {
  /// An authentication scheme that the client supports.
  public enum Scheme: String, Sendable, Hashable {
    /// RFC 6750; the answer is a token.
    case bearer
    /// RFC 7616; the answer is a password, which itself is not sent.
    case digest
    /// RFC 7617; the answer is a password, which is sent unencrypted: safe over TLS only.
    case basic
  }

  /// The scheme.
  public let scheme: Scheme

  /// The name of the protection space for people; empty if the server states none.
  public let realm: String

  /// The URL of the request, without credentials.
  public let url: NormalizedURL

  /// All parameters that the server sent.
  public let challenge: Challenge

  /// The number of credentials that the server has refused for this request.
  public let failures: Int

  /// The credential that was refused last, or `nil` if none was.
  public let refused: Credential?

  /// Creates a challenge, for tests of a ``CredentialProvider``.
  package init(
    _ scheme: Scheme, _ challenge: Challenge, url: NormalizedURL, failures: Int = 0,
    refused: Credential? = nil
  ) {
    self.scheme = scheme
    realm = challenge.realm
    self.url = url
    self.challenge = challenge
    self.failures = failures
    self.refused = refused
  }

  /// Returns the challenges of a 401 that the client supports, the strongest scheme first.
  static func supported(in head: HTTPResponseHead) -> [(scheme: Scheme, challenge: Challenge)] {
    let all = Challenge.all(in: head.fields)
    let bearer = all.filter { $0.isScheme("Bearer") }.map { (Scheme.bearer, $0) }
    // RFC 7616, section 3.7: the server prefers the first of several.
    let digest = all.filter { DigestTerms($0) != nil }.map { (Scheme.digest, $0) }
    let basic = all.filter { $0.isScheme("Basic") }.map { (Scheme.basic, $0) }
    return [bearer.first, digest.first, basic.first].compactMap { $0 }
  }
}

/// Returns the credential for a challenge, or `nil` if there is none for its scheme.
///
/// If a server offers several schemes, the provider is called for each, the strongest first
/// (Bearer, Digest, Basic), until it returns a credential. It may take long, for example to ask a
/// person: all requests to one protection space wait for the same answer. It must not send a
/// request with the same client that needs the answer.
public typealias CredentialProvider =
  @Sendable (AuthenticationChallenge) async -> Credential?
