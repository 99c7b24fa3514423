internal import CacheSystem

/// The bytes of evicted entries that the volume does not yet tell as free: btrfs frees them with its next
/// commit, XFS in the background.
///
/// If enough was evicted for one entry, and the volume tells less than half of it, the volume is
/// synchronized. If that does not help, nothing more is evicted for the entry: other programs may have taken
/// the bytes, or a snapshot keeps them.
struct PendingSpace {
  enum Step { case evict, synchronize, giveUp }

  private var freed: UInt64 = 0
  /// The free bytes before the evictions.
  private var first: UInt64?
  /// The free bytes before the volume was synchronized last.
  private var synchronized: UInt64?

  /// Counts the bytes of an evicted entry.
  mutating func add(_ bytes: UInt64) { freed += bytes }

  /// Returns the next step while too few bytes are free.
  mutating func step(free available: UInt64, wanted: UInt64) -> Step {
    let before = first ?? available
    first = before
    let seen = available - min(available, before)
    guard freed > 0, freed >= wanted - min(wanted, available), seen < freed / 2 else {
      return .evict
    }
    if let synchronized, available <= synchronized { return .giveUp }
    synchronized = available
    return .synchronize
  }
}

extension Evictor {
  /// Returns the bytes that the volume gets back for an evicted entry. Those of an entry in the log are freed
  /// with their segment, and those of a body with the last entry that has it.
  func freedBytes(of evicted: Slot) -> UInt64 {
    if evicted.isUnsettled { return 0 }
    let isShared = catalog.state.withLock { state in
      state.index.sharing(evicted.digest, length: evicted.length) != nil
    }
    return evicted.overhead + (isShared ? 0 : evicted.length)
  }
}
