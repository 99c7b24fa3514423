import CacheFormat
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// The room that entries in the log take.
@Suite struct LogRoomTests {
  let sandbox = StoreSandbox()

  /// Opens a store whose upkeep settles nothing by itself.
  private func open(_ limits: Limits? = nil) throws -> Store {
    var options = Options(limits: limits)
    options.journal = JournalSizes(logBytes: 64 << 10)
    return try sandbox.open(options, settling: .within(seconds: 3_600))
  }

  private func isInStaging(_ suffix: String) -> Bool {
    sandbox.tree("staging").keys.contains { $0.hasSuffix(suffix) }
  }

  @Test(arguments: [((64 << 20) - 1, 0), (64 << 20, 1)] as [(UInt64, Int)])
  func `a body is in files at once where less than 64 MiB are free`(
    free: UInt64, unsettled: Int
  ) throws {
    let files = FaultyFiles()
    files.faults.availableBytes = free
    let store = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    try store.put(TestBody.make(2_000, seed: 1), for: "a")
    #expect(store.statistics.unsettledEntries == unsettled)
    #expect(sandbox.bodies.count == 1 - unsettled)
  }

  @Test func `storing the body of an entry in the log again evicts nothing`() throws {
    let store = try open(Limits(bytes: 1 << 20))
    let body = TestBody.make(16_384, seed: 100)
    for number in 0..<25 {
      try store.put(TestBody.make(17_000, seed: UInt64(number)), for: "k\(number)")
    }
    try store.put(body, for: "a")
    // A part of what is charged follows the limit, so this comes to less room step by step.
    for _ in 0..<8 {
      try store.setLimits(Limits(bytes: store.statistics.chargedBytes + 4_096))
    }
    #expect(store.statistics.entries == 26 && store.statistics.unsettledEntries == 1)
    try store.put(body, for: "a")
    #expect(store.statistics.entries == 26 && store.statistics.evictions == 0)
  }

  @Test func `entries are settled early once they take half of the log, but not for settled ones`()
    throws
  {
    let store = try open()
    for number in 0..<4 {
      #expect(store.statistics.unsettledEntries == number)
      try store.put(TestBody.make(10_000, seed: UInt64(number)), for: "k\(number)")
    }
    store.waitUntilIdle()
    #expect(store.statistics.unsettledEntries == 0)
    // The log still has those bodies.
    for number in 0..<2 { try store.put(TestBody.make(1_000, seed: 8), for: "new\(number)") }
    store.waitUntilIdle()
    #expect(store.settler.settleStep().after ?? 0 > 1_000_000_000)
    #expect(store.statistics.unsettledEntries == 2)
  }

  @Test func `a change of one of two entries with one file does not split them`() throws {
    let store = try open(Limits(bytes: 1 << 20))
    let body = TestBody.make(10_000, seed: 1)
    try store.put(body, for: "a")
    try store.settle()
    try store.put(body, for: "b")
    try store.settle()
    #expect(store.statistics.sharedBytes == 10_000)
    // The record of `a` still carries the body.
    try store.update("a") { $0.status = 203 }
    #expect(store.statistics.sharedBytes == 10_000)
    try store.remove("b")
    #expect(store.lookUp("a").entry?.body == body)
  }

  @Test(arguments: [true, false])
  func `the moved files of a replaced entry are deleted with its successor`(
    isEvicted: Bool
  ) throws {
    let store = try open()
    for key: ByteString in ["a", "b"] {
      try store.put(TestBody.make(2_000, seed: 1), for: key)
    }
    try store.settle()
    for key: ByteString in ["a", "b"] {
      try store.put(TestBody.make(2_000, seed: 2), for: key)
    }
    #expect(isInStaging(".body") && sandbox.bodies.isEmpty)
    if isEvicted {
      _ = try store.trim(toBytes: 0)
    } else {
      try store.remove("a")
      #expect(isInStaging(".body"))
      try store.remove("b")
    }
    #expect(!isInStaging(".body"))
  }

  @Test func `the moved files of a replaced entry are deleted when it becomes smaller`() throws {
    let store = try open()
    try store.put(TestBody.make(10_000, seed: 1), for: "a")
    try store.settle()
    try store.put(TestBody.make(9_000, seed: 2), for: "a")
    #expect(isInStaging(".body"))
    try store.put(TestBody.make(11_000, seed: 3), for: "a")
    #expect(isInStaging(".body"))
    try store.put([4], for: "a")
    #expect(!isInStaging(".body"))
    #expect(store.lookUp("a").entry?.body == [4])
  }
}
