import CacheFormat
import HTTPSemantics
import MessageDigests

/// The parameters of a Digest challenge (RFC 7616, section 3.3).
struct DigestTerms: Sendable, Hashable {
  enum Function: String, Sendable {
    case md5 = "MD5"
    case sha256 = "SHA-256"

    func callAsFunction(_ text: String) -> String {
      MessageDigest.of(Array(text.utf8), self == .md5 ? .md5 : .sha256).hexadecimal
    }
  }

  let realm: String
  let nonce: String
  let opaque: String?
  let function: Function
  /// Whether the key is made once for a session (`-sess`).
  let isSession: Bool
  /// The algorithm as the server wrote it, or `nil` if it did not.
  let algorithm: String?
  /// Whether the server supports `qop=auth`; without it the answer is that of RFC 2069.
  let hasQuality: Bool
  let hashesUser: Bool
  /// Whether the nonce has expired; the password may be right.
  let isStale: Bool
  /// The same for all requests with the nonce: it is part of the key of a session (RFC 7616, section
  /// 3.4.2).
  let clientNonce: String

  /// Reads a challenge. Returns `nil` for another scheme, an unsupported hash function, a server
  /// that accepts only `auth-int`, or texts that are not UTF-8: the answer would contain other bytes
  /// than the challenge, and a right password would be refused.
  ///
  /// - Parameter clientNonce: A text that an attacker cannot choose.
  init?(_ challenge: Challenge, clientNonce: String = Self.randomNonce) {
    guard challenge.isScheme("Digest"), let nonce = challenge["nonce"],
      let realm = challenge["realm"],
      ![realm, nonce, challenge["opaque"] ?? ""].contains(where: { $0.contains("\u{FFFD}") })
    else { return nil }
    let name = (challenge["algorithm"] ?? "MD5").uppercased()
    isSession = name.hasSuffix("-SESS")
    guard let function = Function(rawValue: isSession ? String(name.dropLast(5)) : name) else {
      return nil
    }
    let qualities = challenge["qop"]?.split { $0 == "," || $0 == " " || $0 == "\t" }
    hasQuality = qualities?.contains { $0.lowercased() == "auth" } ?? false
    if let qualities, !qualities.isEmpty, !hasQuality { return nil }
    // The key of a session is made with the client's nonce, which is sent only with a `qop`.
    if isSession, !hasQuality { return nil }
    self.realm = realm
    self.nonce = nonce
    self.function = function
    opaque = challenge["opaque"]
    algorithm = challenge["algorithm"]
    hashesUser = challenge["userhash"]?.lowercased() == "true"
    isStale = challenge["stale"]?.lowercased() == "true"
    self.clientNonce = clientNonce
  }

  private static var randomNonce: String {
    let random = [UInt64.random(in: 0 ... .max), .random(in: 0 ... .max)]
    return random.map { Hexadecimal.string($0) }.joined()
  }

  /// Computes the value of `response` (RFC 7616, section 3.4.1).
  ///
  /// - Parameters:
  ///   - uri: The request's target as it is sent.
  ///   - count: The number of uses of the nonce, including this one.
  func response(
    user: String, password: String, method: String, uri: String, count: UInt32
  ) -> String {
    var key = function("\(user):\(realm):\(password)")
    if isSession { key = function("\(key):\(nonce):\(clientNonce)") }
    let subject = function("\(method):\(uri)")
    guard hasQuality else { return function("\(key):\(nonce):\(subject)") }
    return function(
      "\(key):\(nonce):\(Self.text(count)):\(clientNonce):auth:\(subject)")
  }

  /// Returns the value of `Authorization` (RFC 7616, section 3.4).
  func authorization(
    user: String, password: String, method: String, uri: String, count: UInt32
  ) -> String {
    let response = response(
      user: user, password: password, method: method, uri: uri, count: count)
    var parts = [userPart(user), "realm=\(QuotedString.quote(realm))", "uri=\"\(uri)\""]
    if let algorithm { parts.append("algorithm=\(algorithm)") }
    parts.append("nonce=\(QuotedString.quote(nonce))")
    if hasQuality {
      parts += ["nc=\(Self.text(count))", "cnonce=\(QuotedString.quote(clientNonce))", "qop=auth"]
    }
    parts.append("response=\"\(response)\"")
    if let opaque { parts.append("opaque=\(QuotedString.quote(opaque))") }
    if hashesUser { parts.append("userhash=true") }
    return "Digest " + parts.joined(separator: ", ")
  }

  /// Returns the parameter with the user's name: quoted, hashed, or in the extended form of RFC
  /// 8187 for names that a quoted string cannot contain.
  private func userPart(_ user: String) -> String {
    if hashesUser { return "username=\"\(function("\(user):\(realm)"))\"" }
    guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      return "username*=UTF-8''\(Self.extended(user))"
    }
    return "username=\(QuotedString.quote(user))"
  }

  /// Percent-encodes all characters except letters, digits and `-._~`.
  private static func extended(_ text: String) -> String {
    PercentEncoding.escaped(text.utf8) { ASCII.isUnreserved($0) }
  }

  private static func text(_ count: UInt32) -> String {
    Hexadecimal.string(UInt64(count), digits: 8)
  }
}
