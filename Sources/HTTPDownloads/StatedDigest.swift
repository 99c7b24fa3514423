import CacheFormat
import HTTPSemantics
public import MessageDigests

/// The digest that a file should have, by its server or the caller.
public struct StatedDigest: Sendable, Hashable, CustomStringConvertible {
  /// The algorithm.
  public let algorithm: DigestAlgorithm

  /// The bytes of the digest; their number is that of the algorithm.
  public let bytes: [UInt8]

  /// Creates a digest; returns `nil` for a wrong number of bytes.
  public init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.byteCount else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Reads hex digits of either case, as `sha256sum` prints them; returns `nil` for anything else.
  public init?(_ algorithm: DigestAlgorithm, hex text: String) {
    guard let bytes = [UInt8](hexadecimal: text) else { return nil }
    self.init(algorithm, bytes)
  }

  /// Reads the strongest digest of the whole representation that a server states: `Repr-Digest`
  /// (RFC 9530), or `Content-MD5` (RFC 2616, section 14.15) of a 200.
  init?(of head: HTTPResponseHead) {
    let stated = head.fields.combinedValue(of: "Repr-Digest").flatMap {
      StructuredDictionary($0)
    }
    for algorithm in [DigestAlgorithm.sha512, .sha256] {
      guard case .byteSequence(let digits) = stated?[algorithm.rawValue],
        let bytes = Base64.decode(Array(digits.utf8)),
        let digest = StatedDigest(algorithm, bytes)
      else { continue }
      self = digest
      return
    }
    guard head.status == 200, let field = head.fields.first(named: "Content-MD5"),
      let bytes = Base64.decode(field.value), let digest = StatedDigest(.md5, bytes)
    else { return nil }
    self = digest
  }

  /// The algorithm and the hex digits.
  public var description: String { "\(algorithm.rawValue) \(bytes.hexadecimal)" }
}
