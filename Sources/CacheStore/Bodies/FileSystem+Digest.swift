package import CacheFormat
package import CacheSystem

extension FileSystem {
  /// Returns whether the first bytes of a file are the body that `digest` names.
  ///
  /// - Parameters:
  ///   - count: the length of the body in bytes. Further bytes of a longer file are ignored; a
  ///     shorter file does not hold the body.
  ///   - hashSeed: the seed of the store.
  ///   - take: called with each piece and its offset, in order.
  /// - Complexity: O(count); a megabyte of memory.
  package func holdsBody(
    _ file: borrowing Descriptor, _ digest: Digest, count: UInt64, hashSeed: UInt64,
    _ take: ([UInt8], Int64) throws(SystemError) -> Void = { _, _ in }
  ) throws(SystemError) -> Bool {
    var plain = DigestHasher()
    var seeded = DigestHasher(seed: hashSeed)
    let isWhole = try readPieces(of: file, count: count) { piece, offset throws(SystemError) in
      try take(piece, offset)
      plain.update(piece)
      seeded.update(piece)
    }
    return isWhole && (plain.digest() == digest || seeded.digest() == digest)
  }

  /// Returns the digest of the first bytes of a file; `nil` if the file is shorter.
  ///
  /// - Parameter seed: 0 for the plain digest, the seed of the store for the seeded one.
  /// - Complexity: O(count); a megabyte of memory.
  package func digest(
    of file: borrowing Descriptor, count: UInt64, seed: UInt64 = 0
  ) throws(SystemError) -> Digest? {
    var hasher = DigestHasher(seed: seed)
    let isWhole = try readPieces(of: file, count: count) { piece, _ in hasher.update(piece) }
    return isWhole ? hasher.digest() : nil
  }

  /// Reads the first bytes of a file, a megabyte at a time.
  ///
  /// - Returns: false if the file is shorter.
  @discardableResult
  func readPieces(
    of file: borrowing Descriptor, count: UInt64,
    _ take: ([UInt8], Int64) throws(SystemError) -> Void
  ) throws(SystemError) -> Bool {
    var offset: UInt64 = 0
    while offset < count {
      let wanted = Int(min(count - offset, 1 << 20))
      let piece = try readBytes(file, count: wanted, at: Int64(offset))
      if piece.isEmpty { return false }
      try take(piece, Int64(offset))
      offset += UInt64(piece.count)
    }
    return true
  }
}
