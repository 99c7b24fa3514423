internal import CXXHash

/// The checksum of records and documents: XXH3 with 64 bits.
///
/// It detects accidental damage. It does not protect against somebody who modifies the store on
/// purpose.
package enum Checksum {
  /// Returns the checksum of `bytes`.
  ///
  /// - Complexity: O(length), without allocation.
  package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    // Safety: base address and count belong to one buffer, which is only read.
    unsafe cxxhash_xxh3_64(bytes.baseAddress, bytes.count, seed)
  }

  /// Returns the checksum of `bytes`.
  ///
  /// - Complexity: O(length), without allocation.
  package static func of(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    // Safety: the array is held while its bytes are read.
    unsafe bytes.withUnsafeBytes { unsafe of($0, seed: seed) }
  }
}
