import CacheFormat
import Testing

@testable import CacheStore

@Suite struct EntryTotalsTests {
  private static func slot(_ change: (inout Slot) -> Void = { _ in }) -> Slot {
    var slot = Slot()
    (slot.length, slot.overhead) = (5_000, 4_096)
    change(&slot)
    return slot
  }

  private static func count(_ slots: Slot...) -> EntryTotals {
    var totals = EntryTotals()
    for slot in slots { totals.count(slot, allocated: 8_192, 1) }
    return totals
  }

  @Test func `an entry counts in the sums of its kinds alone`() {
    let plain = Self.count(Self.slot())
    #expect(plain == EntryTotals(entries: 1, logicalBytes: 5_000, overheadBytes: 4_096))
    var expected = plain
    (expected.pinnedEntries, expected.pinnedBytes) = (1, 5_000)
    expected.pinnedAllocatedBytes = 12_288
    #expect(Self.count(Self.slot { $0.isPinned = true }) == expected)
    expected = plain
    (expected.spareEntries, expected.spareLogicalBytes, expected.spareBytes) = (1, 5_000, 12_288)
    #expect(Self.count(Self.slot { $0.isSpare = true }) == expected)
    expected = plain
    (expected.unsettledEntries, expected.unsettledBytes) = (1, 12_288)
    #expect(Self.count(Self.slot { $0.isUnsettled = true }) == expected)
  }

  @Test func `taking all entries away leaves nothing`() {
    let slots = [
      Self.slot { $0.isPinned = true }, Self.slot { $0.isSpare = true },
      Self.slot { ($0.isUnsettled, $0.isPinned, $0.isSpare) = (true, true, true) },
    ]
    var totals = EntryTotals()
    for slot in slots { totals.count(slot, allocated: 512, 1) }
    for slot in slots { totals.count(slot, allocated: 512, -1) }
    #expect(totals == EntryTotals())
  }

  @Test func `the least bytes of pinned entries are never below zero`() {
    var totals = Self.count(Self.slot { $0.isPinned = true })
    #expect(totals.leastPinnedBytes == 12_288)
    totals.sharedAllocatedBytes = 8_192
    #expect(totals.leastPinnedBytes == 4_096)
    totals.sharedAllocatedBytes = 20_000
    #expect(totals.leastPinnedBytes == 0)
  }

  @Test func `spare entries have a quarter of what the limit counts`() {
    let limits = Limits(bytes: 100)
    let logical = Limits(bytes: 100, accounting: .logical)
    var totals = EntryTotals(entries: 8, logicalBytes: 400, bodyBytes: 300, overheadBytes: 100)
    func isExceeded(_ limits: Limits, _ reason: RemovalReason) -> Bool {
      limits.isSpareShareExceeded(totals, for: reason)
    }
    (totals.spareEntries, totals.spareLogicalBytes, totals.spareBytes) = (2, 100, 100)
    #expect(!isExceeded(limits, .count) && !isExceeded(limits, .bytes))
    #expect(!isExceeded(logical, .bytes))
    totals.spareEntries = 3
    #expect(isExceeded(limits, .count) && !isExceeded(limits, .bytes))
    (totals.spareEntries, totals.spareBytes) = (2, 101)
    #expect(!isExceeded(limits, .count) && isExceeded(limits, .bytes))
    #expect(!isExceeded(logical, .bytes))
    (totals.spareBytes, totals.spareLogicalBytes) = (100, 101)
    #expect(!isExceeded(limits, .bytes) && isExceeded(logical, .bytes))
    #expect(!isExceeded(logical, .count))
  }
}
