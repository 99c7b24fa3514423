import CacheFormat
import MessageDigests

/// Holds what proves to a server who asks: a name with a password, or a token.
///
/// Lives in memory only. Its description does not show the secret.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible
{
  /// Says how long a client keeps it.
  public enum Persistence: Sendable, Hashable {
    /// Until the request, with its redirects within one origin, has its answer.
    case request
    /// As long as the client lives, for the protection space; it is sent without being asked for then.
    case session
  }

  enum Secret: Sendable, Hashable {
    case password(user: String, password: String)
    case token(String)
  }

  let secret: Secret

  /// Says how long a client keeps it.
  public let persistence: Persistence

  /// Says whether a password is sent by the scheme Basic before a server has said what it wants, as
  /// one in a URL is.
  let sendsBasicUnasked: Bool

  /// Stands for the credential in requests as the store sees them, so that it is the same for each way
  /// in which the credential is sent, and is never the secret itself. See ``AuthenticatingTransport``.
  let name: String

  /// Makes a credential of a name and a password, for the schemes Digest and Basic.
  ///
  /// Both are sent in UTF-8 as they are; RFC 7617 and 7616 want them normalised to NFC.
  ///
  /// - Parameter sendsBasicUnasked: sends it by the scheme Basic at once, whatever the server wants.
  public static func password(
    user: String, password: String, persistence: Persistence = .session,
    sendsBasicUnasked: Bool = false
  ) -> Credential {
    Credential(
      .password(user: user, password: password), persistence, sendsBasicUnasked,
      material: "password\0\(user)\0\(password)")
  }

  /// Makes a credential of a token, for the scheme Bearer (RFC 6750).
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
    name = Hexadecimal.string(MessageDigest.of(Array(material.utf8), .sha256))
  }

  /// Names the user, without the password; a token is not shown.
  public var description: String {
    switch secret {
    case .password(let user, _): "the password of \(user)"
    case .token: "a token"
    }
  }

  /// Names the user, without the password; a token is not shown.
  public var debugDescription: String { description }

  /// Compares secrets; how long one is kept makes no difference.
  public static func == (left: Credential, right: Credential) -> Bool { left.name == right.name }

  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Credential: CustomReflectable {
  /// Shows nothing, so that a dump of a value that holds one has no secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Credential {
  /// Gives the value of `Authorization` for the scheme Basic (RFC 7617); nil where the credential is no
  /// password, or its user has a colon.
  var basic: String? {
    guard case .password(let user, let password) = secret, !user.utf8.contains(UInt8(ascii: ":"))
    else { return nil }
    var digits: [UInt8] = []
    Base64.encode(Array("\(user):\(password)".utf8), into: &digits)
    return "Basic " + String(decoding: digits, as: UTF8.self)
  }

  /// Gives the value of `Authorization` for the scheme Bearer; nil where the credential is no token, or
  /// has other characters than those of RFC 6750, section 2.1.
  var bearer: String? {
    guard case .token(let token) = secret, !token.isEmpty,
      token.utf8.allSatisfy(Self.isTokenByte)
    else { return nil }
    return "Bearer \(token)"
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~+/=".utf8.contains(byte)
    }
  }
}
