internal import CacheSystem

/// An iteration over all slots in steps of 256, so that the lock is held for a short time only, and
/// little is loaded at once.
struct SlotCursor {
  private var next = 0
  private static let stepCount = 256

  /// Returns the live entries among the next slots, perhaps none; `nil` at the end.
  mutating func next(in catalog: Catalog) -> [Located]? {
    let start = next
    let (found, end) = catalog.state.withLock { state -> ([Located], Int) in
      if start == 0 { catalog.follow(&state) }
      let end = min(start + Self.stepCount, state.index.slotCount)
      var found: [Located] = []
      for number in start..<max(start, end) {
        let slot = state.index[UInt32(number)]
        guard slot.isLive else { continue }
        found.append(state.located(slot))
      }
      return (found, end)
    }
    next = end
    return end <= start ? nil : found
  }
}
