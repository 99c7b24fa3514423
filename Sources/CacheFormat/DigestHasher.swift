internal import CXXHash

/// Computes the digest of bytes that arrive in any number of pieces.
///
/// It owns a state of about 600 bytes. It can be passed between threads, but only one may use it at
/// a time.
@safe
package struct DigestHasher: ~Copyable, @unchecked Sendable {
  // Safety of `Sendable`: only this value refers to the state. `update` is mutating, so the
  // compiler enforces exclusive access; `digest` only reads.
  private let state: OpaquePointer

  private let seed: UInt64

  /// The number of bytes so far.
  package private(set) var count: UInt64 = 0

  /// Creates a hasher without bytes; traps if the 600 bytes cannot be allocated.
  package init(seed: UInt64 = 0) {
    guard let created = unsafe cxxhash_state_create() else {
      fatalError("no memory for the state of a digest")
    }
    unsafe state = created
    self.seed = seed
    if seed != 0 { reset() }
  }

  deinit {
    // Safety: the state was created by `init`, and nothing else frees it.
    unsafe cxxhash_state_free(state)
  }

  /// Adds bytes.
  ///
  /// - Complexity: O(length), without allocation.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // Safety: base address and count belong to one buffer; the state is alive until `deinit`.
    unsafe cxxhash_state_update(state, bytes.baseAddress, bytes.count)
    count += UInt64(bytes.count)
  }

  /// Adds bytes.
  ///
  /// - Complexity: O(length), without allocation.
  package mutating func update(_ bytes: [UInt8]) {
    // Safety: the array is held while its bytes are read.
    unsafe bytes.withUnsafeBytes { unsafe update($0) }
  }

  /// Returns the digest of all bytes so far; more bytes may follow.
  package borrowing func digest() -> Digest {
    // Safety: the state is alive until `deinit`, and is only read.
    let hash = unsafe cxxhash_state_digest(state)
    return Digest(high: hash.high, low: hash.low)
  }

  /// Discards all bytes, so that another body can be hashed.
  package mutating func reset() {
    // Safety: the state is alive until `deinit`.
    unsafe cxxhash_state_reset(state, seed)
    count = 0
  }
}
