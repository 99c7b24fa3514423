/// How long the journal may get beside its live records.
///
/// Room for dead records (accesses, removals, what was replaced) is set aside in the byte limit, and
/// compaction removes them before they need more. So dead records never evict an entry, and what is
/// evicted depends on the entries alone.
struct JournalBudget {
  /// The bytes of the records that the index points to.
  let live: Int64
  /// The bytes that all other records may have.
  let dead: Int64
  /// The length at which a segment ends: compaction drops whole segments, so they stay small beside
  /// the journal.
  let segmentBytes: Int64

  /// The smallest room for dead records in bytes; enough for headers, limits and some accesses.
  private static let leastSpareBytes: Int64 = 4096

  /// Makes the budget of a journal.
  ///
  /// - Parameters:
  ///   - live: the bytes of live records.
  ///   - limit: the byte limit, if the journal counts for it.
  init(live: Int64, limit: UInt64?, _ sizes: JournalSizes) {
    self.live = max(0, live)
    var spare = sizes.smallBytes
    if let limit { spare = min(spare, max(Int64(clamping: limit / 16), Self.leastSpareBytes)) }
    var most = self.live + spare
    // An eighth of the limit for all of it, as long as the live records leave half of the spare room.
    if let limit { most = min(most, Int64(clamping: limit / 8) - self.live) }
    dead = max(spare / 2, most)
    segmentBytes = min(sizes.segmentBytes, max(self.live / 4, spare / 4))
  }

  /// The most bytes of the journal: what it is charged against the byte limit.
  var bytes: UInt64 { UInt64(live + dead) }

  /// Whether compaction is due, in the background.
  func isDue(_ all: Int64) -> Bool { all - live > dead / 2 }

  /// Whether compaction cannot wait: the next writer does it.
  func isOverdue(_ all: Int64) -> Bool { all - live > dead - dead / 4 }

  /// Whether compaction has reached its goal.
  func isCompact(_ all: Int64) -> Bool { all - live <= dead / 4 }
}

extension Catalog {
  /// The budget of the journal as it is, or with `change` more bytes of live records.
  func journalBudget(_ state: borrowing StoreState, adding change: Int64 = 0) -> JournalBudget {
    JournalBudget(
      live: state.journal.bytes.live + change,
      limit: state.limits.accounting == .allocated ? state.limits.bytes : nil, journal.sizes)
  }
}
