import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// Reading, validating and replacing for a long time: the journal stays short, and nothing is evicted
/// for its sake.
@Suite struct JournalBudgetTests {
  let sandbox = StoreSandbox()
  let clock = SteppingClock(step: 1_000)

  private static let limit: UInt64 = 2 << 20
  private static let pages = (0..<20).map { ByteString("https://example.org/page/\($0)") }

  private func page(_ number: Int, _ version: Int = 0) -> [UInt8] {
    TestBody.make(60_000 + number, seed: UInt64(1000 * version + number + 1))
  }

  private func metadata(_ date: Int) -> EntryMetadata {
    EntryMetadata(
      status: 200,
      fields: [
        Field("etag", "\"5f3a\""), Field("date", ByteString("\(date)")),
      ])
  }

  private func openFilled(_ limits: Limits) throws -> Store {
    let store = try sandbox.open(Options(limits: limits, clock: clock))
    for (number, key) in Self.pages.enumerated() {
      try store.put(page(number), for: key, metadata: metadata(0))
    }
    return store
  }

  private func expectShortJournal(_ store: Store, _ step: Int) {
    let now = store.statistics
    let live = now.journalBytes - now.deadJournalBytes
    #expect(now.journalBytes <= 2 * live + 1 << 20, "step \(step)")
    if store.limits.bytes != nil { #expect(now.journalBytes <= Self.limit / 8, "step \(step)") }
  }

  private enum Work: CaseIterable { case touch, update, replace, mixed }

  private func perform(_ work: Work, _ step: Int, _ store: Store) throws {
    let number = step % Self.pages.count
    let key = Self.pages[number]
    switch work {
    case .touch:
      guard case .hit = store.lookUp(key) else {
        Issue.record("step \(step): \(key) is gone")
        return
      }
      // As the background does after a second.
      try store.flush()
    case .update:
      #expect(try store.update(key) { $0 = metadata(step) }, "step \(step)")
    case .replace:
      try store.put(page(number), for: key, metadata: metadata(step))
    case .mixed: try perform([.touch, .update, .replace][step % 3], step, store)
    }
  }

  @Test(
    arguments: [
      (Work.touch, Limits(bytes: limit)), (.update, Limits(bytes: limit)),
      (.replace, Limits(bytes: limit)), (.mixed, Limits(bytes: limit)), (.mixed, .none),
    ])
  private func `months of one kind of work evict nothing and keep the journal short`(
    work: Work, limits: Limits
  ) throws {
    let store = try openFilled(limits)
    for step in 0..<6_000 {
      try perform(work, step, store)
      if step % 50 == 0 { expectShortJournal(store, step) }
    }
    try store.put(page(77), for: "https://example.org/new", metadata: metadata(0))
    store.waitUntilIdle()
    expectShortJournal(store, 6_000)
    #expect(store.statistics.evictions == 0)
    for (number, key) in Self.pages.enumerated() {
      #expect(store.lookUp(key).entry?.body == page(number))
    }
    store.close()
    let again = try sandbox.open()
    #expect(again.statistics.entries == Self.pages.count + 1)
  }

  @Test func `many short-lived readers keep the journal short`() throws {
    try openFilled(Limits(bytes: Self.limit)).close()
    for step in 0..<1_000 {
      let store = try sandbox.open(Options(clock: clock))
      #expect(store.lookUp(Self.pages[step % Self.pages.count]).entry != nil, "step \(step)")
      store.close()
      if step % 200 == 199 { expectShortJournal(try sandbox.open(), step) }
    }
  }

  @Test func `a journal that cannot be compacted is not tried again at once`() throws {
    let files = FaultyFiles()
    let store = try sandbox.open(
      Options(limits: Limits(bytes: Self.limit), clock: clock, fileSystem: files))
    for (number, key) in Self.pages.enumerated() {
      try store.put(page(number), for: key, metadata: metadata(0))
    }
    // Each compaction begins a segment.
    files.faults.set { $0.kind == .rename && $0.name.hasSuffix(".log") ? SystemError(ENOSPC) : nil }
    for step in 0..<1_000 { _ = try? store.update(Self.pages[step % 20]) { $0 = metadata(step) } }
    store.waitUntilIdle()
    let tries = files.faults.calls.count { $0.kind == .rename && $0.name.hasSuffix(".log") }
    #expect((1...900).contains(tries))
    files.faults.set(nil)
    for step in 0..<1_000 { try store.update(Self.pages[step % 20]) { $0 = metadata(step) } }
    store.waitUntilIdle()
    expectShortJournal(store, 2_000)
    #expect(store.statistics.evictions == 0)
  }

  @Test func `a journal full of embedded bodies is not copied again and again`() throws {
    let files = FaultyFiles()
    var options = Options(limits: Limits(bytes: 8 << 20), clock: clock, fileSystem: files)
    options.journal = JournalSizes(smallBytes: 8 << 10, longestEmbedded: 3_000)
    let store = try sandbox.open(options, settling: .within(seconds: 60))
    let keys = (0..<350).map { ByteString("https://example.org/\($0)") }
    for (number, key) in keys.enumerated() {
      try store.put(TestBody.make(3_000, seed: UInt64(number)), for: key)
    }
    try store.settle()
    store.waitUntilIdle()
    let begun = { files.faults.calls.count { $0.kind == .rename && $0.name.hasSuffix(".log") } }
    files.faults.set { _ in nil }
    for round in 0..<12 {
      for key in keys { #expect(store.lookUp(key).entry != nil, "round \(round)") }
      try store.flush()
    }
    store.waitUntilIdle()
    #expect((1...15).contains(begun()))
    #expect(store.statistics.evictions == 0)
  }

  @Test(arguments: [UInt64(1) << 14, 1 << 20, 1 << 40], [Int64(0), 100, 1 << 20, 1 << 30])
  func `a budget leaves room for dead records and stays within an eighth of the limit`(
    limit: UInt64, live: Int64
  ) {
    let budget = JournalBudget(live: live, limit: limit, JournalSizes())
    #expect(budget.dead >= max(2048, live / 4))
    #expect(Int64(budget.bytes) <= 2 * live + 1 << 20)
    if UInt64(live) < limit / 32 { #expect(budget.bytes <= max(limit / 8, 4096)) }
    #expect(budget.isDue(live + budget.dead))
    #expect(!budget.isDue(live))
    #expect(budget.isCompact(live))
    let more = JournalBudget(live: live + 500, limit: limit, JournalSizes())
    #expect(more.bytes >= budget.bytes)
  }
}
