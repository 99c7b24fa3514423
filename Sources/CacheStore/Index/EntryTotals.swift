/// The sums that are compared with the limits. They are updated with every change.
struct EntryTotals: Sendable, Hashable {
  var entries = 0
  /// The sum of the body lengths.
  var logicalBytes: UInt64 = 0
  /// The bytes allocated for distinct bodies.
  var bodyBytes: UInt64 = 0
  /// The bytes allocated for metadata files and directories.
  var overheadBytes: UInt64 = 0
  /// The lengths of the bodies that share the file of another body.
  var sharedBytes: UInt64 = 0
  /// The bytes that these would allocate in files of their own.
  var sharedAllocatedBytes: UInt64 = 0
  var pinnedEntries = 0
  var pinnedBytes: UInt64 = 0
  /// The bytes that they would allocate without sharing files.
  var pinnedAllocatedBytes: UInt64 = 0
  /// The entries with the tag `spare`, the lengths of their bodies, and the bytes that they would
  /// allocate without sharing files.
  var spareEntries = 0
  var spareLogicalBytes: UInt64 = 0
  var spareBytes: UInt64 = 0
  /// The entries whose files have not been written yet.
  var unsettledEntries = 0
  /// The bytes that their bodies and directories will take. They are a part of the other sums.
  var unsettledBytes: UInt64 = 0

  /// The least bytes that pinned entries allocate: as if all bodies that share a file were pinned.
  var leastPinnedBytes: UInt64 {
    pinnedAllocatedBytes - min(pinnedAllocatedBytes, sharedAllocatedBytes)
  }

  /// Counts an entry, except for the sums of distinct and of shared bodies.
  ///
  /// - Parameters:
  ///   - slot: the entry.
  ///   - allocated: the bytes that its body alone takes on disk.
  ///   - sign: 1, or -1 to take it away.
  mutating func count(_ slot: Slot, allocated: UInt64, _ sign: Int) {
    func add(_ bytes: UInt64, to sum: inout UInt64) {
      if sign > 0 { sum += bytes } else { sum -= bytes }
    }
    entries += sign
    add(slot.length, to: &logicalBytes)
    add(slot.overhead, to: &overheadBytes)
    if slot.isPinned {
      pinnedEntries += sign
      add(slot.length, to: &pinnedBytes)
      add(allocated + slot.overhead, to: &pinnedAllocatedBytes)
    }
    if slot.isSpare {
      spareEntries += sign
      add(slot.length, to: &spareLogicalBytes)
      add(allocated + slot.overhead, to: &spareBytes)
    }
    if slot.isUnsettled {
      unsettledEntries += sign
      add(allocated + slot.overhead, to: &unsettledBytes)
    }
  }
}

extension Limits {
  /// The part of a store that spare entries keep when something has to be evicted: a quarter.
  static let spareParts: UInt64 = 4

  /// Returns whether spare entries have more than their share of what is counted.
  func isSpareShareExceeded(_ totals: EntryTotals, for reason: RemovalReason) -> Bool {
    let (spare, all): (UInt64, UInt64) =
      if reason == .count {
        (UInt64(totals.spareEntries), UInt64(totals.entries))
      } else if accounting == .logical {
        (totals.spareLogicalBytes, totals.logicalBytes)
      } else {
        (totals.spareBytes, totals.bodyBytes + totals.overheadBytes)
      }
    return spare > all / Self.spareParts
  }
}
