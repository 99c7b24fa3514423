public import CacheFormat
internal import CacheSystem

/// The entries of a store, one after the other, without loading them all.
///
/// An entry that is stored or removed during the iteration may be returned or not. No unchanged
/// entry is returned twice, unless other processes write so much meanwhile that the journal has to
/// be read again. Bodies are not read, and the iteration does not count as an access.
public struct EntrySequence: Sequence, Sendable {
  let store: Store

  /// Returns an iterator that begins with the first entry.
  public func makeIterator() -> Iterator { Iterator(store: store) }

  /// An iterator over the entries in the order of the index.
  public struct Iterator: IteratorProtocol {
    let store: Store
    private var cursor = SlotCursor()
    private var waiting: [Located] = []

    init(store: Store) { self.store = store }

    /// Returns the next entry, or `nil` at the end.
    public mutating func next() -> EntryInfo? {
      while true {
        while let located = waiting.popLast() {
          guard let place = store.certain(located),
            let record = try? store.catalog.readRecord(place)
          else { continue }
          return place.info(record)
        }
        guard let more = cursor.next(in: store.catalog) else { return nil }
        waiting = more.reversed()
      }
    }
  }
}

extension Store {
  /// Returns a sequence of all entries; see `EntrySequence`. A closed store has none.
  public func entries() -> EntrySequence {
    recovery.completeIndex()
    return EntrySequence(store: self)
  }

  /// Returns the place of an entry, after the tree was asked if a later change of it may be lost;
  /// `nil` if that remains so, or if the store is closed.
  fileprivate func certain(_ located: Located) -> Located? {
    let slot = located.slot
    if !catalog.state.withLock({ $0.isClosed || $0.isDoubtful(slot) }) { return located }
    guard case .entry(let found) = recovery.locate(slot.keyHash, slot.variant) else { return nil }
    return found
  }
}
