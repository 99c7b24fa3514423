import Testing

@testable import CacheStore

@Suite struct LogBudgetTests {
  private static let mebibyte: Int64 = 1 << 20

  @Test func `without a limit the log has its most bytes, in segments of at most 64 MiB`() {
    let budget = LogBudget(limit: nil, JournalSizes())
    #expect(budget.bytes == 256 * Self.mebibyte)
    #expect(budget.segmentBytes == 64 * Self.mebibyte)
  }

  @Test(arguments: [(0, 0), (7, 0), (8, 1), (80, 10), (2_048, 256), (1 << 40, 256)])
  func `the log has an eighth of the limit, or none if that is less than 1 MiB`(
    limit: Int64, bytes: Int64
  ) {
    let budget = LogBudget(limit: UInt64(limit * Self.mebibyte), JournalSizes())
    #expect(budget.bytes == bytes * Self.mebibyte)
  }

  @Test func `an eighth of the limit just below 1 MiB is no log`() {
    #expect(LogBudget(limit: UInt64(8 * Self.mebibyte - 8), JournalSizes()).bytes == 0)
  }

  @Test func `a limit beyond all files counts as the largest`() {
    #expect(LogBudget(limit: .max, JournalSizes()).bytes == 256 * Self.mebibyte)
  }

  @Test(arguments: [(1, 256), (2, 512), (100, 25_600)])
  func `a segment is a quarter of the budget, and at least 256 KiB`(size: Int64, segment: Int64) {
    let budget = LogBudget(limit: UInt64(size * 8 * Self.mebibyte), JournalSizes())
    #expect(budget.segmentBytes == segment << 10)
  }

  @Test func `a log that is smaller than a segment is one segment`() {
    let budget = LogBudget(limit: nil, JournalSizes(logBytes: 100_000))
    #expect(budget.bytes == 100_000)
    #expect(budget.segmentBytes == 100_000)
    // A small budget that was asked for counts as reached by an eighth of the limit.
    #expect(LogBudget(limit: 800_000, JournalSizes(logBytes: 100_000)).bytes == 100_000)
    #expect(LogBudget(limit: 799_992, JournalSizes(logBytes: 100_000)).bytes == 0)
  }

  @Test func `no bodies are stored with a budget below zero`() {
    let budget = LogBudget(limit: nil, JournalSizes(logBytes: -1))
    #expect(budget.bytes == 0)
    #expect(budget.segmentBytes == 0)
  }

  @Test func `entries are settled early from a half on, segments dropped from three quarters on`() {
    let budget = LogBudget(limit: nil, JournalSizes(logBytes: 1_000))
    #expect(!budget.isHalfUsed(500) && budget.isHalfUsed(501))
    #expect(!budget.isOverdue(750) && budget.isOverdue(751))
  }
}
