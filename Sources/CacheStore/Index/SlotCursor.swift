internal import CacheSystem

/// An iteration over all slots in steps of 256, so that the lock is held for a short time only, and
/// little is loaded at once. If the index is built anew meanwhile, it begins again: no entry is left
/// out, but some may come twice.
struct SlotCursor {
  private var next = 0
  private var clearings: UInt64 = 0
  private static let stepCount = 256

  /// Returns the live entries among the next slots, perhaps none; `nil` at the end.
  mutating func next(in catalog: Catalog) -> [Located]? {
    let (found, start, end) = catalog.state.withLock { state -> ([Located], Int, Int) in
      catalog.follow(&state)
      if clearings != state.clearings { (clearings, next) = (state.clearings, 0) }
      let start = next
      let end = min(start + Self.stepCount, state.index.slotCount)
      var found: [Located] = []
      for number in start..<max(start, end) {
        let slot = state.index[UInt32(number)]
        guard slot.isLive else { continue }
        found.append(state.located(slot))
      }
      return (found, start, end)
    }
    next = end
    return end <= start ? nil : found
  }
}
