internal import CXXHash

/// The name of a body: the 128-bit XXH3 of its bytes. The seed is 0; if another body of the same
/// key already has that name, it is the hash seed of the store (Docs/Format.md, "Hashes").
///
/// XXH3 is not a cryptographic hash. Bodies with equal digests are probably equal, but only a
/// comparison of their bytes proves it.
public struct Digest: Sendable, Hashable, BitwiseCopyable {
  /// The upper half, written first.
  public var high: UInt64

  /// The lower half.
  public var low: UInt64

  @inlinable
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Computes the digest of `bytes`.
  ///
  /// - Complexity: O(length), without allocation.
  package init(hashing bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) {
    // Safety: base address and count belong to one buffer, which is only read.
    let hash = unsafe cxxhash_xxh3_128(bytes.baseAddress, bytes.count, seed)
    self.init(high: hash.high, low: hash.low)
  }

  /// Computes the digest of `bytes`.
  ///
  /// - Complexity: O(length), without allocation.
  package init(hashing bytes: [UInt8], seed: UInt64 = 0) {
    // Safety: the array is held while its bytes are read.
    self = unsafe bytes.withUnsafeBytes { unsafe Digest(hashing: $0, seed: seed) }
  }

  /// Returns whether this is the name of a body with these bytes, in a store with this hash seed.
  ///
  /// - Complexity: O(length), without allocation.
  package func names(_ bytes: UnsafeRawBufferPointer, hashSeed: UInt64) -> Bool {
    unsafe Digest(hashing: bytes) == self || Digest(hashing: bytes, seed: hashSeed) == self
  }

  /// Returns whether this is the name of a body with these bytes, in a store with this hash seed.
  ///
  /// - Complexity: O(length), without allocation.
  package func names(_ bytes: [UInt8], hashSeed: UInt64) -> Bool {
    // Safety: the array is held while its bytes are read.
    unsafe bytes.withUnsafeBytes { unsafe names($0, hashSeed: hashSeed) }
  }

  /// Reads exactly 32 lower-case hex digits; `nil` for anything else.
  @inlinable
  package init?(digits: some Collection<UInt8>) {
    guard digits.count == 32,
      let high = Hexadecimal.parse(digits.prefix(16)),
      let low = Hexadecimal.parse(digits.dropFirst(16))
    else { return nil }
    self.init(high: high, low: low)
  }
}

extension Digest: CustomStringConvertible {
  /// The 32 hex digits, the upper half first: the canonical form of the xxHash specification.
  public var description: String {
    Hexadecimal.string(high) + Hexadecimal.string(low)
  }
}
