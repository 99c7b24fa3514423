/// The bytes of evicted entries that the volume does not yet tell as free: btrfs frees them with its next
/// commit, XFS in the background.
///
/// If the volume told less than half of what was evicted, and that is enough, it is synchronized once. What
/// it does not tell then, after more evictions, counts as free: it may be free later, or never, in a
/// snapshot for example. So a store does not empty itself for it.
struct PendingSpace {
  enum Step { case evict, synchronize, done }

  private var freed: UInt64 = 0
  /// The free bytes before the evictions.
  private var first: UInt64?
  private var hasSynchronized = false

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
    if hasSynchronized { return .done }
    (freed, first, hasSynchronized) = (0, nil, true)
    return .synchronize
  }
}

extension Slot {
  /// The bytes that the volume gets back when the entry is removed. Those of an entry in the log are freed
  /// with their segment.
  var freedBytes: UInt64 { isUnsettled ? 0 : length + overhead }
}
