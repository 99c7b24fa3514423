import CacheFormat
import HTTPSemantics
import MessageDigests

/// A user name with a password, or a bearer token.
///
/// Its description does not show the secret. Only a ``CredentialVault`` writes it anywhere.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible
{
  /// How long a client keeps a credential.
  public enum Persistence: Sendable, Hashable {
    /// For one request with its redirects within one origin.
    case request
    /// As long as the client lives, for the protection space: it is sent before the server asks.
    case session
    /// Like ``session``, and in the client's ``CredentialVault``: it is saved there when a server
    /// has accepted it, and removed when a server refuses it. This has effect only in the answer of
    /// a ``CredentialProvider``.
    case permanent
  }

  /// What proves the user's identity, for a ``CredentialVault``. Its description shows the user only.
  public enum Secret: Sendable, Hashable {
    /// A user name and a password.
    case password(user: String, password: String)
    /// A bearer token.
    case token(String)
  }

  /// The secret.
  public let secret: Secret

  /// How long a client keeps it.
  public internal(set) var persistence: Persistence

  /// Whether a password is sent by the scheme Basic before the server asks, like one in a URL.
  let sendsBasicUnasked: Bool

  /// The name of the credential in requests above the transport: a digest of the secret, the same
  /// for all schemes. See ``AuthenticatingTransport``.
  let name: String

  /// Returns a credential with a user name and a password, for the schemes Digest and Basic.
  ///
  /// Both are sent in UTF-8 as they are; RFC 7617 and 7616 require the caller to normalise them to
  /// NFC.
  ///
  /// - Parameters:
  ///   - user: The user name.
  ///   - password: The password.
  ///   - persistence: How long it is kept.
  ///   - sendsBasicUnasked: Whether it is sent by the scheme Basic before the server asks.
  public static func password(
    user: String, password: String, persistence: Persistence = .session,
    sendsBasicUnasked: Bool = false
  ) -> Credential {
    Credential(
      .password(user: user, password: password), persistence, sendsBasicUnasked,
      material: "password\0\(user)\0\(password)")
  }

  /// Returns a credential with a token, for the scheme Bearer (RFC 6750).
  public static func token(
    _ token: String, persistence: Persistence = .session
  ) -> Credential {
    Credential(.token(token), persistence, false, material: "token\0\(token)")
  }

  private init(
    _ secret: Secret, _ persistence: Persistence, _ sendsBasicUnasked: Bool, material: String
  ) {
    self.secret = secret
    self.persistence = persistence
    self.sendsBasicUnasked = sendsBasicUnasked
    name = MessageDigest.of(Array(material.utf8), .sha256).hexadecimal
  }

  /// The user, without the password; a token is not shown.
  public var description: String { secret.description }

  /// The user, without the password; a token is not shown.
  public var debugDescription: String { description }

  /// Compares secrets, whatever their persistence.
  public static func == (left: Credential, right: Credential) -> Bool { left.name == right.name }

  /// Hashes the secret.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Credential: CustomReflectable {
  /// An empty mirror, so that a dump shows no secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Credential.Secret: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The user, without the password; a token is not shown.
  public var description: String {
    switch self {
    case .password(let user, _): "the password of \(user)"
    case .token: "a token"
    }
  }

  /// The user, without the password; a token is not shown.
  public var debugDescription: String { description }

  /// An empty mirror, so that a dump shows no secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Credential {
  /// Returns whether it can be the answer to a challenge of a scheme.
  func fits(_ scheme: AuthenticationChallenge.Scheme) -> Bool {
    switch secret {
    case .password: scheme != .bearer
    case .token: scheme == .bearer
    }
  }

  /// The value of `Authorization` for the scheme Basic (RFC 7617), or `nil` if the credential is
  /// not a password, or the user name has a colon.
  var basic: String? {
    guard case .password(let user, let password) = secret, !user.utf8.contains(UInt8(ascii: ":"))
    else { return nil }
    return "Basic " + Base64.encode(Array("\(user):\(password)".utf8))
  }

  /// The value of `Authorization` for the scheme Bearer, or `nil` if the credential is not a token,
  /// or has characters that RFC 6750, section 2.1 does not allow.
  var bearer: String? {
    guard case .token(let token) = secret, !token.isEmpty,
      token.utf8.allSatisfy({ ASCII.isUnreserved($0) || "+/=".utf8.contains($0) })
    else { return nil }
    return "Bearer \(token)"
  }
}
