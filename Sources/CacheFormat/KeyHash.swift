internal import CXXHash

/// The hash of a key: the 128-bit XXH3 of its bytes with the hash seed of the store.
///
/// It is the name of the key's directory (`entries/3f/a07c…`) and finds the key's slot in the
/// index. Two keys may have the same hash, so a lookup by hash must also compare the full key.
@usableFromInline
package struct KeyHash: Sendable, Hashable, BitwiseCopyable {
  /// The upper half, written first.
  @usableFromInline package var high: UInt64

  /// The lower half.
  @usableFromInline package var low: UInt64

  @inlinable
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Computes the hash of a key's bytes in a store with the hash seed `seed`.
  ///
  /// - Complexity: O(length), without allocation.
  package init(hashing key: UnsafeRawBufferPointer, seed: UInt64) {
    // Safety: base address and count belong to one buffer, which is only read.
    let hash = unsafe cxxhash_xxh3_128(key.baseAddress, key.count, seed)
    self.init(high: hash.high, low: hash.low)
  }

  /// Computes the hash of a key in a store with the hash seed `seed`.
  ///
  /// - Complexity: O(length), without allocation.
  package init(hashing key: ByteString, seed: UInt64) {
    // Safety: the key is held while its bytes are read.
    self = unsafe key.bytes.withUnsafeBytes { unsafe KeyHash(hashing: $0, seed: seed) }
  }

  /// Feeds only the lower half to the hasher: its bits are already uniformly distributed.
  @inlinable
  package func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}

// The names in the tree (Docs/Format.md, "The tree"): 2 digits for the shard, 30 for the directory.
extension KeyHash {
  package static let directoryNameLength = 30

  /// The first 2 hex digits.
  package var shardName: String {
    Hexadecimal.string(high &>> 56, digits: 2)
  }

  /// The other 30 hex digits.
  package var directoryName: String {
    Hexadecimal.string(high, digits: 14) + Hexadecimal.string(low)
  }
}

extension KeyHash: CustomStringConvertible {
  /// The 32 hex digits, the upper half first.
  @usableFromInline package var description: String { shardName + directoryName }
}
