internal import CacheFormat
internal import Synchronization

/// The room for bodies in the journal (Docs/Architecture.md, "The log").
struct LogBudget {
  /// The most bytes of bodies; 0 if bodies are not stored in the journal. They count for the byte
  /// limit, whether they are used or not, so that evictions depend on the entries alone.
  let bytes: Int64
  /// The bytes of bodies at which a segment ends.
  let segmentBytes: Int64

  /// The least budget that an eighth of the byte limit must reach. A smaller store has no log.
  private static let leastBytes: Int64 = 1 << 20
  private static let leastSegmentBytes: Int64 = 256 << 10

  /// Makes the budget of a store.
  ///
  /// - Parameter limit: the byte limit, if the journal counts for it.
  init(limit: UInt64?, _ sizes: JournalSizes) {
    var most = sizes.logBytes
    if let limit {
      let share = Int64(clamping: limit / 8)
      most = share < min(Self.leastBytes, most) ? 0 : min(most, share)
    }
    bytes = max(0, most)
    segmentBytes = min(sizes.segmentBytes, max(bytes / 4, min(bytes, Self.leastSegmentBytes)))
  }

  /// Returns whether entries are settled before they are old enough.
  func isHalfUsed(_ used: Int64) -> Bool { used > bytes / 2 }

  /// Returns whether segments have to be dropped.
  func isOverdue(_ used: Int64) -> Bool { used > bytes - bytes / 4 }
}

extension Catalog {
  /// Returns the budget of the log.
  func logBudget(_ state: borrowing StoreState) -> LogBudget {
    LogBudget(
      limit: state.limits.accounting == .allocated ? state.limits.bytes : nil, journal.sizes)
  }

  /// The bytes that the log counts for the byte limit: nothing as long as the journal has format 1.
  func logReserve(_ state: borrowing StoreState) -> UInt64 {
    state.journal.carriesBodies ? UInt64(logBudget(state).bytes) : 0
  }

  /// Returns whether the current segment is full. A segment with many records is as short as the
  /// budget of the journal demands, and one with bodies as short as that of the log.
  func isFull(_ state: borrowing StoreState) -> Bool {
    guard let use = state.journal.last else { return false }
    let log = logBudget(state).segmentBytes
    return use.readBytes - use.bodyBytes >= journalBudget(state).segmentBytes
      || use.bodyBytes > 0 && use.bodyBytes >= log
  }

  /// Returns whether a record with a body of so many bytes may be appended.
  func hasLogRoom(_ bytes: Int, _ state: borrowing StoreState) -> Bool {
    state.isComplete && state.journal.isWhole && state.journal.carriesBodies
      && !isVolumeTight.load(ordering: .relaxed)
      && state.journal.bodies.all + Int64(bytes) <= logBudget(state).bytes
  }
}
