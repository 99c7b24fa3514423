/// The length that the journal may reach.
///
/// Room for dead records (accesses, removals, replaced entries) is set aside in the byte limit, and
/// compaction removes them before they need more. So dead records never cause an eviction, and the
/// evictions depend on the entries alone.
struct JournalBudget {
  /// The bytes of the records that the index points to.
  let live: Int64
  /// The most bytes of all other records.
  let dead: Int64
  /// The length at which a segment ends. Compaction drops whole segments, so they are short
  /// compared with the journal.
  let segmentBytes: Int64

  /// The least room for dead records in bytes, which is enough for headers, limits and some
  /// accesses.
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
    // The journal gets an eighth of the limit at most, but dead records always get half of the
    // spare room. They also get a quarter of the live records, so that a journal with many embedded
    // bodies is not copied again and again for the sake of a few accesses.
    if let limit { most = min(most, Int64(clamping: limit / 8) - self.live) }
    dead = max(spare / 2, self.live / 4, most)
    segmentBytes = min(sizes.segmentBytes, max(self.live / 4, spare / 4))
  }

  /// The most bytes of the journal. They count for the byte limit.
  var bytes: UInt64 { UInt64(live + dead) }

  /// Returns whether compaction is due, in the background.
  func isDue(_ all: Int64) -> Bool { all - live > dead / 2 }

  /// Returns whether compaction cannot wait, so that the next writer does it.
  func isOverdue(_ all: Int64) -> Bool { all - live > dead - dead / 4 }

  /// Returns whether compaction has reached its goal.
  func isCompact(_ all: Int64) -> Bool { all - live <= dead / 4 }
}

extension StoreState {
  /// Returns the budget of the present journal, or of one with `change` more bytes of live records.
  func journalBudget(adding change: Int64 = 0) -> JournalBudget {
    JournalBudget(
      live: journal.bytes.live + change,
      limit: limits.accounting == .allocated ? limits.bytes : nil, sizes)
  }

  /// Whether dead records or bodies take so much room that compaction is due.
  var wantsCompaction: Bool {
    let all = journal.bytes.all
    let logged = journal.bodies.all
    return journal.isWhole && !journal.failsToCompact.contains(all + logged)
      && (journalBudget().isDue(all) || logBudget.isOverdue(logged))
  }

  /// Whether compaction has reached its goal.
  var isCompact: Bool {
    journalBudget().isCompact(journal.bytes.all) && !logBudget.isOverdue(journal.bodies.all)
  }
}
