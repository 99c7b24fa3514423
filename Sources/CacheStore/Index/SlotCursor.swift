internal import CacheSystem

/// Goes through all slots in steps, so that neither the lock is held long nor much is loaded.
struct SlotCursor {
  private var next = 0
  private static let stepCount = 256

  /// The entries of the next slots, perhaps none of them live; nil at the end.
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
