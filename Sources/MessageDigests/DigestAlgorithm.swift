/// A message digest of HTTP, with its lower-case name in RFC 9530 and RFC 7616.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// RFC 1321. Broken: it detects accidental changes, but not attacks.
  case md5
  /// FIPS 180-4.
  case sha256 = "sha-256"
  /// FIPS 180-4.
  case sha512 = "sha-512"

  package var byteCount: Int {
    switch self {
    case .md5: 16
    case .sha256: 32
    case .sha512: 64
    }
  }
}
