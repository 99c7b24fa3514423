package import CacheFormat
package import CacheSystem

extension FileSystem {
  /// Returns whether the first bytes of a file are the body that `digest` names.
  ///
  /// - Parameters:
  ///   - count: the bytes of the body; a longer file is cut there, a shorter one is not the body.
  ///   - hashSeed: that of the store.
  ///   - take: called with each piece and its offset, in order.
  /// - Complexity: O(count); a megabyte of memory.
  package func holdsBody(
    _ file: borrowing Descriptor, _ digest: Digest, count: UInt64, hashSeed: UInt64,
    _ take: ([UInt8], Int64) throws(SystemError) -> Void = { _, _ in }
  ) throws(SystemError) -> Bool {
    var plain = DigestHasher()
    var seeded = DigestHasher(seed: hashSeed)
    while plain.count < count {
      let wanted = Int(min(count - plain.count, 1 << 20))
      let piece = try readBytes(file, count: wanted, at: Int64(plain.count))
      if piece.isEmpty { return false }
      try take(piece, Int64(plain.count))
      plain.update(piece)
      seeded.update(piece)
    }
    return plain.digest() == digest || seeded.digest() == digest
  }

  /// Computes the plain digest of the first bytes of a file; `nil` if there are fewer.
  ///
  /// - Complexity: O(count); a megabyte of memory.
  package func digest(
    of file: borrowing Descriptor, count: UInt64
  ) throws(SystemError) -> Digest? {
    var hasher = DigestHasher()
    while hasher.count < count {
      let wanted = Int(min(count - hasher.count, 1 << 20))
      let piece = try readBytes(file, count: wanted, at: Int64(hasher.count))
      if piece.isEmpty { return nil }
      hasher.update(piece)
    }
    return hasher.digest()
  }
}
