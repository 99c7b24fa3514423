import CacheFormat

/// Names a certificate, or the public key in one, that a server may show.
///
/// A pin is held against the server's own certificate, not against those of the authorities above it.
public struct Pin: Sendable, Hashable, CustomStringConvertible {
  /// Names what the digest is taken of.
  public enum Subject: Sendable, Hashable {
    /// The public key with its algorithm, in DER (`SubjectPublicKeyInfo`, RFC 5280, section 4.1); it
    /// stays when the certificate is renewed with the same key.
    case publicKey
    /// The whole certificate, in DER.
    case certificate
  }

  /// Names what the digest is taken of.
  public let subject: Subject

  /// Gives the SHA-256, 32 bytes.
  public let digest: [UInt8]

  /// Makes a pin of a SHA-256; nil where the digest has not 32 bytes.
  public init?(_ subject: Subject, digest: [UInt8]) {
    guard digest.count == 32 else { return nil }
    self.subject = subject
    self.digest = digest
  }

  /// Reads a pin as it is commonly written.
  ///
  /// A public key is `sha256/` and Base 64 (`sha256//` as curl writes it, too); a certificate is 64
  /// hexadecimal digits, with colons between the bytes or without, as `openssl x509 -fingerprint
  /// -sha256` prints it.
  ///
  /// - Throws: ``PinError`` with the reason for anything else.
  public init(_ text: String) throws(PinError) {
    func refuse(_ problem: String) -> PinError { PinError(text: text, problem: problem) }
    if text.hasPrefix("sha256/") {
      let digits = text.dropFirst("sha256/".count).trimmingPrefix("/")
      guard let digest = Base64.decode(Array(digits.utf8)) else {
        throw refuse("what stands behind sha256/ is no Base 64")
      }
      guard let pin = Pin(.publicKey, digest: digest) else {
        throw refuse("it has \(digest.count) bytes in place of the 32 of a SHA-256")
      }
      self = pin
      return
    }
    guard !text.contains("/") else {
      throw refuse("it does not begin with sha256/, the only digest of keys")
    }
    let digits = text.count { $0.isHexDigit }
    guard let digest = Self.hexadecimal(text), let pin = Pin(.certificate, digest: digest) else {
      throw refuse(
        digits == 64
          ? "the digits are not written in pairs with colons between them"
          : "it has \(digits) hexadecimal digits in place of 64, and no sha256/ before it")
    }
    self = pin
  }

  /// Writes the pin as ``init(_:)`` reads it.
  public var description: String {
    switch subject {
    case .publicKey:
      var digits: [UInt8] = []
      Base64.encode(digest, into: &digits)
      return "sha256/" + String(decoding: digits, as: UTF8.self)
    case .certificate:
      return digest.map { [$0].hexadecimal.uppercased() }.joined(separator: ":")
    }
  }

  private static func hexadecimal(_ text: String) -> [UInt8]? {
    guard text.utf8.count == 32 * 3 - 1 else { return [UInt8](hexadecimal: text) }
    let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
    return pairs.allSatisfy { $0.utf8.count == 2 } ? [UInt8](hexadecimal: pairs.joined()) : nil
  }
}
