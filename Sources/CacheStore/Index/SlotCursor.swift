internal import CacheSystem

/// An iteration over all slots in steps of 256, so that the lock is held for a short time only, and
/// little is loaded at once. If the index is built anew meanwhile, it begins again: no entry is left
/// out, but some may come twice.
struct SlotCursor {
  private var next = 0
  private var clearings: UInt64 = 0
  static let stepCount = 256

  /// Returns the live entries among the next slots, perhaps none; `nil` at the end.
  mutating func next(in catalog: Catalog) -> [Located]? {
    catalog.reader.withCurrentState { state in
      let step = step(state)
      return step.isEmpty ? nil : step.compactMap { state.located($0) }
    }
  }

  /// Returns the numbers of the next slots; none at the end.
  mutating func step(_ state: borrowing StoreState) -> Range<UInt32> {
    if clearings != state.clearings { (clearings, next) = (state.clearings, 0) }
    let start = next
    next = max(start, min(start + Self.stepCount, state.index.slotCount))
    return UInt32(start)..<UInt32(next)
  }
}
