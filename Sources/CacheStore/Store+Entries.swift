public import CacheFormat
internal import CacheSystem

/// The entries of a store, one after the other, without loading them all.
///
/// What is stored or removed meanwhile may be seen or not; nothing is seen twice that stayed as it
/// was. Bodies are not read, and looking counts as no access.
public struct EntrySequence: Sequence, Sendable {
  let store: Store

  /// Returns an iterator that begins with the first entry.
  public func makeIterator() -> Iterator { Iterator(store: store) }

  /// Reads the entries in the order of the index.
  public struct Iterator: IteratorProtocol {
    let store: Store
    private var cursor = SlotCursor()
    private var waiting: [Located] = []

    init(store: Store) { self.store = store }

    /// Returns the next entry, or `nil` at the end.
    public mutating func next() -> EntryInfo? {
      while true {
        while let located = waiting.popLast() {
          if let record = try? store.catalog.readRecord(located) {
            return located.info(record)
          }
        }
        guard let more = cursor.next(in: store.catalog) else { return nil }
        waiting = more.reversed()
      }
    }
  }
}

extension Store {
  /// Gives the entries one after the other; see `EntrySequence`.
  public func entries() -> EntrySequence {
    recovery.completeIndex()
    return EntrySequence(store: self)
  }
}
