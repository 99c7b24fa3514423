import CacheFormat
import HTTPSemantics
public import MessageDigests

/// Holds a digest that somebody says a file has.
public struct StatedDigest: Sendable, Hashable, CustomStringConvertible {
  /// Names the algorithm.
  public let algorithm: DigestAlgorithm

  /// Gives the bytes of the digest, as many as the algorithm makes.
  public let bytes: [UInt8]

  /// Makes a digest; nil where it is not as long as the algorithm makes them.
  public init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.byteCount else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Reads hex digits of either case, as `sha256sum` prints them; nil for anything else.
  public init?(_ algorithm: DigestAlgorithm, hex text: String) {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text {
      guard character.isASCII, let value = character.hexDigitValue else { return nil }
      guard let first = high else {
        high = UInt8(value)
        continue
      }
      bytes.append(first << 4 | UInt8(value))
      high = nil
    }
    guard high == nil else { return nil }
    self.init(algorithm, bytes)
  }

  /// Reads the digest of the whole representation that a server states: `Repr-Digest` (RFC 9530), or
  /// `Content-MD5` (RFC 2616, section 14.15) of an answer that is not in parts; the strongest one.
  init?(of head: HTTPResponseHead) {
    let stated = head.fields.combinedValue(of: "Repr-Digest").flatMap {
      StructuredDictionary($0.span)
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

  /// Gives the algorithm and the hex digits.
  public var description: String {
    "\(algorithm.rawValue) \(Hexadecimal.string(bytes))"
  }
}
