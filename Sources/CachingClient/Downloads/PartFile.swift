import CacheFormat
import CacheSystem
import MessageDigests

/// Holds the bytes of a download that have come so far, in order, and a sum of each block of them.
///
/// Whoever goes on believes what has its sum, and nothing else: that covers kills, loss of power and
/// changes by others without a sync while it grows. The file is locked as long as this lives. Blocking
/// calls.
final class PartFile: @unchecked Sendable {
  // Unchecked: one call at a time; the download waits for each before it makes the next.

  /// How many bytes are written at once, and may be lost by a kill.
  static let blockBytes = 256 << 10
  /// One sum: where the block ends, and its digest, little-endian.
  private static let sumBytes = 24

  let place: DownloadPlace
  private let part: Descriptor
  private let sums: Descriptor
  private var written: UInt64 = 0
  private var sumsLength: Int64 = 0
  private var gathered: [UInt8] = []
  private var digest: MessageDigest?

  private init(_ place: DownloadPlace, _ part: consuming Descriptor, _ sums: consuming Descriptor) {
    self.place = place
    self.part = part
    self.sums = sums
  }

  /// Takes the lock of the part, and makes the file where there is none.
  ///
  /// - Returns: nil where another has the lock.
  static func open(_ place: DownloadPlace) throws(SystemError) -> PartFile? {
    while true {
      let part = try place.open(place.part)
      guard try place.files.tryLock(part) else { return nil }
      let opened = try place.files.status(of: part.raw)
      guard opened.kind == .file else { throw .notAFile }
      // Who held the lock before may have put the file in place, or removed it.
      guard place.status(place.part)?.fileNumber == opened.fileNumber else { continue }
      return PartFile(place, part, try place.open(place.sums))
    }
  }

  /// Counts the bytes that have come, those that wait to be written included.
  var length: UInt64 { written + UInt64(gathered.count) }

  /// Begins with nothing.
  ///
  /// - Parameter algorithm: the digest that is made of the bytes as they come; nil: none.
  func restart(_ algorithm: DigestAlgorithm?) throws(SystemError) {
    gathered = []
    digest = algorithm.map { MessageDigest($0) }
    try cut(to: 0, sumsLength: 0)
  }

  /// Goes on with what is there: cuts it off at the first block that is not what its sum says.
  ///
  /// - Complexity: O(length), in memory of a block.
  func recover(_ algorithm: DigestAlgorithm?) throws(SystemError) {
    gathered = []
    digest = algorithm.map { MessageDigest($0) }
    let end = try place.files.status(of: part.raw).length
    var good: UInt64 = 0
    var goodSums: Int64 = 0
    while let sum = try nextSum(at: goodSums) {
      let blockEnd = Self.number(sum)
      guard blockEnd > good, blockEnd <= end, blockEnd - good <= UInt64(Self.blockBytes) else {
        break
      }
      let block = try place.files.readBytes(part, count: Int(blockEnd - good), at: Int64(good))
      guard Self.sum(of: block, end: blockEnd) == sum else { break }
      digest?.update(block)
      good = blockEnd
      goodSums += Int64(Self.sumBytes)
    }
    try cut(to: good, sumsLength: goodSums)
  }

  /// Takes bytes, and does not block.
  ///
  /// - Returns: whether there is a block of them now, which ``flush()`` should write.
  func gather(_ bytes: [UInt8]) -> Bool {
    gathered += bytes
    return gathered.count >= Self.blockBytes
  }

  /// Writes what was gathered.
  func flush() throws(SystemError) {
    var start = 0
    while start < gathered.count {
      let end = min(start + Self.blockBytes, gathered.count)
      try write(start == 0 && end == gathered.count ? gathered : Array(gathered[start..<end]))
      start = end
    }
    gathered.removeAll(keepingCapacity: true)
  }

  /// Returns the digest of all bytes, once; nil where none was asked for.
  func finishDigest() -> [UInt8]? {
    defer { digest = nil }
    return digest?.finish()
  }

  /// Makes the bytes survive loss of power.
  func synchronize() throws(SystemError) {
    try place.files.synchronize(part, names: true)
  }

  /// Gives what fstat(2) says of the part.
  func status() throws(SystemError) -> FileStatus {
    try place.files.status(of: part.raw)
  }

  /// Removes it with all that tells of it.
  func remove() {
    place.remove(place.part)
    place.remove(place.sums)
    place.removeRecord(.unfinished)
  }

  private func cut(to length: UInt64, sumsLength: Int64) throws(SystemError) {
    try place.files.truncate(sums, to: sumsLength)
    try place.files.truncate(part, to: Int64(length))
    written = length
    self.sumsLength = sumsLength
  }

  private func write(_ block: [UInt8]) throws(SystemError) {
    let end = written + UInt64(block.count)
    try place.files.write(part, block, at: Int64(written))
    try place.files.write(sums, Self.sum(of: block, end: end), at: sumsLength)
    digest?.update(block)
    written = end
    sumsLength += Int64(Self.sumBytes)
  }

  /// Reads the sum at an offset; nil where there is no whole one.
  private func nextSum(at offset: Int64) throws(SystemError) -> [UInt8]? {
    let sum = try place.files.readBytes(sums, count: Self.sumBytes, at: offset)
    return sum.count == Self.sumBytes ? sum : nil
  }

  private static func sum(of block: [UInt8], end: UInt64) -> [UInt8] {
    let digest = Digest(hashing: block)
    return [end, digest.high, digest.low].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
  }

  private static func number(_ bytes: [UInt8]) -> UInt64 {
    bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
