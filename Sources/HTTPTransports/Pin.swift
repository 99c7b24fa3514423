import CacheFormat

/// The digest of a certificate, or of the public key in one, that a server may present.
///
/// A pin is compared with the server's own certificate, not with those of the authorities above it.
public struct Pin: Sendable, Hashable, CustomStringConvertible {
  /// The data whose digest a pin has.
  public enum Subject: Sendable, Hashable {
    /// The public key with its algorithm, in DER (`SubjectPublicKeyInfo`, RFC 5280, section 4.1).
    /// It stays the same if the certificate is renewed with the same key.
    case publicKey
    /// The whole certificate, in DER.
    case certificate
  }

  /// The data whose digest the pin has.
  public let subject: Subject

  /// The SHA-256, 32 bytes.
  public let digest: [UInt8]

  /// Creates a pin from a SHA-256; returns `nil` if the digest does not have 32 bytes.
  public init?(_ subject: Subject, digest: [UInt8]) {
    guard digest.count == 32 else { return nil }
    self.subject = subject
    self.digest = digest
  }

  /// Creates a pin from its usual text form.
  ///
  /// For a public key this is `sha256/` and Base 64 (or `sha256//`, as curl writes it). For a
  /// certificate it is 64 hexadecimal digits, with or without colons between the bytes, as `openssl
  /// x509 -fingerprint -sha256` prints it.
  ///
  /// - Throws: ``PinError`` with the reason for any other text.
  public init(_ text: String) throws(PinError) {
    func refuse(_ problem: String) -> PinError { PinError(text: text, problem: problem) }
    if text.hasPrefix("sha256/") {
      // The first digit may be a slash, too.
      let digits = Array(text.utf8.dropFirst("sha256/".utf8.count))
      if let digest = Base64.decode(digits), let pin = Pin(.publicKey, digest: digest) {
        self = pin
        return
      }
      let isCurls = digits.first == UInt8(ascii: "/")
      guard let digest = Base64.decode(isCurls ? Array(digits.dropFirst()) : digits) else {
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

  /// The text form, as ``init(_:)`` reads it.
  public var description: String {
    switch subject {
    case .publicKey: "sha256/" + Base64.encode(digest)
    case .certificate: digest.map { [$0].hexadecimal.uppercased() }.joined(separator: ":")
    }
  }

  private static func hexadecimal(_ text: String) -> [UInt8]? {
    guard text.utf8.count == 32 * 3 - 1 else { return [UInt8](hexadecimal: text) }
    let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
    return pairs.allSatisfy { $0.utf8.count == 2 } ? [UInt8](hexadecimal: pairs.joined()) : nil
  }
}
