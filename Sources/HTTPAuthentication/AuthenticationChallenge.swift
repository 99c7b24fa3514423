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

  /// The place for which a ``CredentialVault`` keeps the credential.
  public var space: ProtectionSpace { ProtectionSpace(url: url, realm: realm, scheme: scheme) }

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

/// The answer of a ``CredentialProvider`` to a challenge.
public enum CredentialAnswer: Sendable, Hashable {
  /// Sends the request again with this credential.
  case use(Credential)
  /// Has no credential for this scheme. The provider is called for the next scheme that the server
  /// offers; after the last one, the 401 is the answer.
  case tryNextScheme
  /// Goes on without a credential: the 401 is the answer, and the provider is not called again.
  case goOnWithout
  /// Cancels the request, and all others that wait for this answer. They fail with
  /// `TransportError.Code.loginCancelled`, and in the Foundation API with
  /// `URLError.userCancelledAuthentication`.
  case cancel
}

/// Returns the answer to a challenge.
///
/// If a server offers several schemes, the provider is called for each, the strongest first
/// (Bearer, Digest, Basic), until it returns something else than ``CredentialAnswer/tryNextScheme``.
/// It may take long, for example to ask a person: all requests to one protection space wait for the
/// same answer. It must not send a request with the same client that needs the answer.
public typealias CredentialProvider =
  @Sendable (AuthenticationChallenge) async -> CredentialAnswer
