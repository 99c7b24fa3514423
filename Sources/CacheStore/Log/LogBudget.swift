internal import CacheFormat

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

  /// Returns whether entries are settled before they are old enough. The bodies of settled entries do not
  /// count: a log that has been in use for a while is full of them.
  func isHalfUsed(_ unsettled: Int64) -> Bool { unsettled > bytes / 2 }

  /// Returns whether segments have to be dropped.
  func isOverdue(_ used: Int64) -> Bool { used > bytes - bytes / 4 }
}

extension StoreState {
  /// The budget of the log.
  var logBudget: LogBudget {
    LogBudget(limit: limits.accounting == .allocated ? limits.bytes : nil, sizes)
  }

  /// The bytes that the log counts for the byte limit: nothing as long as the journal has format 1.
  var logReserve: UInt64 { journal.carriesBodies ? UInt64(logBudget.bytes) : 0 }

  /// Whether the current segment is full. A segment with many records is as short as the budget of
  /// the journal demands, and one with bodies as short as that of the log.
  var isSegmentFull: Bool {
    guard let use = journal.last else { return false }
    return use.readBytes - use.bodyBytes >= journalBudget().segmentBytes
      || use.bodyBytes > 0 && use.bodyBytes >= logBudget.segmentBytes
  }

  /// Returns whether a record with a body of so many bytes may be appended.
  func hasLogRoom(_ bytes: Int) -> Bool {
    isIndexWhole && journal.carriesBodies && !isVolumeTight
      && journal.bodies.all + Int64(bytes) <= logBudget.bytes
  }
}
