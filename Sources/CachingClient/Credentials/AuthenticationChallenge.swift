public import HTTPSemantics

/// Tells who asks for credentials, and how it went so far.
public struct AuthenticationChallenge: Sendable {
  /// Names a scheme that the client speaks.
  public enum Scheme: Sendable, Hashable {
    /// RFC 6750; answered by a token.
    case bearer
    /// RFC 7616; answered by a password, which is not sent itself.
    case digest
    /// RFC 7617; answered by a password, which is sent as good as in clear: only over TLS is it safe.
    case basic
  }

  /// Names the scheme.
  public let scheme: Scheme

  /// Names the protection space for people; empty where the server does not say.
  public let realm: String

  /// Gives the URL that was asked for, without credentials.
  public let url: NormalizedURL

  /// Gives all that the server has said.
  public let challenge: Challenge

  /// Counts the credentials that the server has refused for this request.
  public let failures: Int

  /// Gives the credential that was refused last; nil: none was.
  public let refused: Credential?

  /// Makes a challenge, for tests of what answers it.
  public init(
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

  /// Returns the challenges of a 401 that the client can answer, the strongest scheme first.
  static func supported(in head: HTTPResponseHead) -> [(scheme: Scheme, challenge: Challenge)] {
    let all = Challenge.all(in: head.fields)
    let bearer = all.filter { $0.isScheme("Bearer") }.map { (Scheme.bearer, $0) }
    // RFC 7616, section 3.7: of several the server wants the first.
    let digest = all.filter { DigestTerms($0) != nil }.map { (Scheme.digest, $0) }
    let basic = all.filter { $0.isScheme("Basic") }.map { (Scheme.basic, $0) }
    return [bearer.first, digest.first, basic.first].compactMap { $0 }
  }
}

/// Answers challenges: returns what to send, or nil for nothing of this scheme.
///
/// Where a server offers several schemes it is asked for each, the strongest first (Bearer, Digest,
/// Basic), until there is an answer. It may take its time, to ask a person for instance; many requests
/// to one protection space wait for the same answer. It must not ask the same client for something
/// that needs the answer.
public typealias CredentialProvider =
  @Sendable (AuthenticationChallenge) async -> Credential?
