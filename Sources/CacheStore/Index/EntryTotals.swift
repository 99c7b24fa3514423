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
  mutating func add(_ slot: Slot, allocated: UInt64) {
    entries += 1
    logicalBytes += slot.length
    overheadBytes += slot.overhead
    if slot.isPinned {
      pinnedEntries += 1
      pinnedBytes += slot.length
      pinnedAllocatedBytes += allocated + slot.overhead
    }
    if slot.isSpare {
      spareEntries += 1
      spareLogicalBytes += slot.length
      spareBytes += allocated + slot.overhead
    }
    if slot.isUnsettled {
      unsettledEntries += 1
      unsettledBytes += allocated + slot.overhead
    }
  }

  /// Reverses ``add(_:allocated:)``.
  mutating func subtract(_ slot: Slot, allocated: UInt64) {
    entries -= 1
    logicalBytes -= slot.length
    overheadBytes -= slot.overhead
    if slot.isPinned {
      pinnedEntries -= 1
      pinnedBytes -= slot.length
      pinnedAllocatedBytes -= allocated + slot.overhead
    }
    if slot.isSpare {
      spareEntries -= 1
      spareLogicalBytes -= slot.length
      spareBytes -= allocated + slot.overhead
    }
    if slot.isUnsettled {
      unsettledEntries -= 1
      unsettledBytes -= allocated + slot.overhead
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
