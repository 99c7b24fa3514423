import CacheFormat
import HTTPSemantics
public import MessageDigests

/// The digest that a file should have, by its server or the caller.
public struct StatedDigest: Sendable, Hashable, CustomStringConvertible {
  /// The algorithm.
  public let algorithm: DigestAlgorithm

  /// The bytes of the digest; their number is that of the algorithm.
  public let bytes: [UInt8]

  /// Creates a digest.
  ///
  /// - Throws: `InvalidDigest` for a wrong number of bytes.
  public init(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) throws(InvalidDigest) {
    let expected = algorithm.byteCount
    guard bytes.count == expected else { throw .bytes(count: bytes.count, expected: expected) }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Reads hex digits of either case, as `sha256sum` prints them.
  ///
  /// - Throws: `InvalidDigest` for other characters, also blanks, and for a wrong number of digits.
  public init(_ algorithm: DigestAlgorithm, hex text: String) throws(InvalidDigest) {
    guard text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { throw .characters }
    let (count, expected) = (text.utf8.count, 2 * algorithm.byteCount)
    guard count == expected, let bytes = [UInt8](hexadecimal: text) else {
      throw .digits(count: count, expected: expected)
    }
    try self.init(algorithm, bytes)
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
        let digest = try? StatedDigest(algorithm, bytes)
      else { continue }
      self = digest
      return
    }
    guard head.status == 200, let field = head.fields.first(named: "Content-MD5"),
      let bytes = Base64.decode(field.value), let digest = try? StatedDigest(.md5, bytes)
    else { return nil }
    self = digest
  }

  /// The algorithm and the hex digits.
  public var description: String { "\(algorithm.rawValue) \(bytes.hexadecimal)" }
}

/// The reason why a text or bytes are not a digest.
public enum InvalidDigest: Error, Sendable, Hashable, CustomStringConvertible {
  /// The number of bytes is not that of the algorithm.
  case bytes(count: Int, expected: Int)
  /// The number of hex digits is not that of the algorithm.
  case digits(count: Int, expected: Int)
  /// The text has other characters than hex digits.
  case characters

  /// What is wrong, and what to do.
  public var description: String {
    switch self {
    case .bytes(let count, let expected):
      "the digest has \(count) bytes, not \(expected); give all of them, or correct the algorithm"
    case .digits(let count, let expected):
      "the digest has \(count) hex digits, not \(expected); copy all of them, or correct the "
        + "algorithm"
    case .characters:
      "the digest has other characters than hex digits; remove blanks and prefixes such as 'sha256:'"
    }
  }
}
