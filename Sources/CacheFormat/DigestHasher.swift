internal import CXXHash

/// Computes a digest while the bytes pass, in any number of pieces.
///
/// It owns a state of about 600 bytes. It may be handed from thread to thread, and used by one at
/// a time.
@safe
package struct DigestHasher: ~Copyable, @unchecked Sendable {
  // Safety of `Sendable`: the state is reached through this value alone, and `update` is mutating,
  // so exclusive access is the compiler's rule; `digest` only reads.
  private let state: OpaquePointer

  private let seed: UInt64

  /// Counts the bytes so far.
  package private(set) var count: UInt64 = 0

  /// Creates a hasher that has seen no byte; traps when the machine has no 600 bytes left.
  package init(seed: UInt64 = 0) {
    guard let created = unsafe cxxhash_state_create() else {
      fatalError("no memory for the state of a digest")
    }
    unsafe state = created
    self.seed = seed
    if seed != 0 { reset() }
  }

  deinit {
    // Safety: the state was made by `init`, and nobody else can free it.
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

  /// Gives the digest of all bytes so far; more may follow.
  package borrowing func digest() -> Digest {
    // Safety: the state is alive until `deinit`, and is only read.
    let hash = unsafe cxxhash_state_digest(state)
    return Digest(high: hash.high, low: hash.low)
  }

  /// Forgets all bytes, so that a new body can begin.
  package mutating func reset() {
    // Safety: the state is alive until `deinit`.
    unsafe cxxhash_state_reset(state, seed)
    count = 0
  }
}
