import CacheFormat
import MessageDigests

/// The content of a part: how much of it is written, and the bytes that wait to be written.
///
/// The content belongs to one record. Each block of it has a sum that begins with the mark of the
/// record, so that blocks of another answer are never taken for blocks of this one.
struct PartContent {
  /// The length of a block, in bytes: so many are written at once, and may be lost by a kill.
  static let blockBytes = 256 << 10
  /// The length of a sum, in bytes: the end of the block and its digest, little-endian.
  static let sumBytes = 24

  private(set) var written: UInt64 = 0
  /// The bytes of the sums that are written.
  private(set) var sumsLength: Int64 = 0
  /// The bytes that are not written yet.
  var gathered: [UInt8] = []
  private let mark: [UInt8]
  private var digest: MessageDigest?

  /// Creates an empty content.
  ///
  /// - Parameters:
  ///   - record: The record of the content; `nil` if no bytes follow.
  ///   - algorithm: The digest of the whole content to compute; `nil` for none.
  init(of record: DownloadRecord? = nil, _ algorithm: DigestAlgorithm? = nil) {
    mark = record?.mark ?? []
    digest = algorithm.map { MessageDigest($0) }
  }

  /// The number of bytes, including those that are not written yet.
  var length: UInt64 { written + UInt64(gathered.count) }

  /// Returns the sum of a block at the end of what is written.
  func sum(of block: [UInt8]) -> [UInt8] {
    var hasher = DigestHasher()
    hasher.update(mark)
    hasher.update(block)
    let digest = hasher.digest()
    return [written + UInt64(block.count), digest.high, digest.low].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
  }

  /// Returns the length of the next block by its sum, or `nil` if it is not between 1 and
  /// ``blockBytes``, as of no sum.
  func blockLength(_ sum: [UInt8]) -> Int? {
    let end = sum.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard end > written, end - written <= UInt64(Self.blockBytes) else { return nil }
    return Int(end - written)
  }

  mutating func append(_ block: [UInt8]) {
    digest?.update(block)
    written += UInt64(block.count)
    sumsLength += Int64(Self.sumBytes)
  }

  /// Returns the digest of the content, once; `nil` if none is computed.
  mutating func finishDigest() -> [UInt8]? {
    defer { digest = nil }
    return digest?.finish()
  }
}
