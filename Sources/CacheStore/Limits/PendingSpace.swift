internal import CacheSystem

/// The bytes of evicted entries that the volume does not yet tell as free: btrfs frees them with its next
/// commit, XFS in the background. Others get back less than expected, like those whose directories take no
/// blocks of their own.
///
/// If enough was evicted for one entry, and the volume tells less than half of it, the volume is
/// synchronized; then more is evicted only if it tells at least an eighth. If it does not, nothing more is
/// evicted for the entry: other programs may have taken the bytes, or a snapshot keeps them.
struct PendingSpace {
  enum Step { case evict, synchronize, giveUp }

  /// The free bytes before the evictions.
  private var first: UInt64?
  /// The bytes of all evicted entries.
  private var freed: UInt64 = 0
  /// The free bytes after the volume was synchronized last, and the bytes of the entries evicted before.
  private var known: (free: UInt64, freed: UInt64)?
  /// The free bytes before the volume was synchronized, if nothing was evicted since.
  private var synchronized: UInt64?

  /// Counts the bytes of an evicted entry.
  mutating func add(_ bytes: UInt64) {
    freed += bytes
    synchronized = nil
  }

  /// Returns the next step while too few bytes are free.
  mutating func step(free available: UInt64, wanted: UInt64) -> Step {
    let before = first ?? available
    first = before
    if let synchronized, available <= synchronized {
      known = (available, freed)
      return available - min(available, before) < max(1, freed / 8) ? .giveUp : .evict
    }
    let last = known ?? (before, 0)
    let (seen, new) = (available - min(available, last.free), freed - last.freed)
    guard new > 0, new >= wanted - min(wanted, available), seen < new / 2 else { return .evict }
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
