public import CacheFormat
internal import CacheSystem

/// Goes through all slots in steps, so that neither the lock is held long nor much is loaded.
struct SlotCursor {
  private var next = 0
  private static let stepCount = 256

  /// The entries of the next slots, perhaps none of them live; nil at the end.
  mutating func next(in store: Store) -> [Located]? {
    let start = next
    let (found, end) = store.state.withLock { state -> ([Located], Int) in
      if start == 0 { store.follow(&state) }
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

/// The entries of a store, one after the other, without loading them all.
///
/// What is stored or removed meanwhile may be seen or not; nothing is seen twice that stayed as it
/// was. Bodies are not read, and looking counts as no access.
public struct EntrySequence: Sequence, Sendable {
  let store: Store

  public func makeIterator() -> Iterator { Iterator(store: store) }

  public struct Iterator: IteratorProtocol {
    let store: Store
    private var cursor = SlotCursor()
    private var waiting: [Located] = []

    init(store: Store) { self.store = store }

    public mutating func next() -> EntryInfo? {
      while true {
        while let located = waiting.popLast() {
          if let record = try? store.readRecord(located) {
            return located.info(record)
          }
        }
        guard let more = cursor.next(in: store) else { return nil }
        waiting = more.reversed()
      }
    }
  }
}

extension Store {
  /// Gives the entries one after the other; see `EntrySequence`.
  public func entries() -> EntrySequence {
    completeIndex()
    return EntrySequence(store: self)
  }
}
