/// Names a message digest that HTTP uses, as RFC 9530 and RFC 7616 do in lower case.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// RFC 1321. Broken: it tells accidents, no attacks.
  case md5
  /// FIPS 180-4.
  case sha256 = "sha-256"
  /// FIPS 180-4.
  case sha512 = "sha-512"

  /// Gives the length of a digest, in bytes.
  package var byteCount: Int {
    switch self {
    case .md5: 16
    case .sha256: 32
    case .sha512: 64
    }
  }
}
