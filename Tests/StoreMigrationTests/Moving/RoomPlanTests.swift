import CacheFormat
import TestSupport
import Testing

@testable import StoreMigration

struct RoomPlanTests {
  private let sandbox: SourceSandbox

  init() throws { sandbox = try SourceSandbox() }

  private func plan() throws -> RoomPlan { try RoomPlan(in: TemporaryFolder(in: sandbox.copies)) }

  private func candidate(
    _ row: Int64, _ key: ByteString, accessed: Int64, received: Int64 = 0, bytes: Int64 = 10,
    replaces: Bool = false
  ) -> RoomPlan.Candidate {
    RoomPlan.Candidate(
      row: row, key: key, variant: 0, received: Timestamp(nanoseconds: received),
      accessed: Timestamp(nanoseconds: accessed), bytes: bytes, replaces: replaces)
  }

  @Test func `the rows that were used last have room, up to the first that does not fit`() throws {
    let plan = try plan()
    for row in 1...5 {
      try plan.add(
        candidate(
          Int64(row), ByteString("k\(row)"), accessed: Int64(row), bytes: row == 3 ? 50 : 10))
    }
    try plan.decide(bytes: 60, entries: nil)
    let admitted = (1...5).filter {
      plan.admits(Int64($0), accessed: Timestamp(nanoseconds: Int64($0)))
    }
    // The rows before the long one would fit, but are older than one that does not.
    #expect(admitted == [4, 5])
  }

  @Test func `what replaces an entry takes no place, and may give room`() throws {
    let plan = try plan()
    try plan.add(candidate(1, "a", accessed: 5, bytes: -10, replaces: true))
    try plan.add(candidate(2, "b", accessed: 4, bytes: 10))
    try plan.add(candidate(3, "c", accessed: 3, bytes: 0, replaces: true))
    try plan.add(candidate(4, "d", accessed: 2, bytes: 0))
    try plan.decide(bytes: 0, entries: 1)
    func admits(_ row: Int64, _ accessed: Int64) -> Bool {
      plan.admits(row, accessed: Timestamp(nanoseconds: accessed))
    }
    #expect(admits(1, 5) && admits(2, 4) && admits(3, 3) && !admits(4, 2))
  }

  @Test func `of two rows with one key the later response counts`() throws {
    let plan = try plan()
    try plan.add(candidate(1, "a", accessed: 1, received: 7))
    try plan.add(candidate(2, "a", accessed: 9, received: 6))
    try plan.add(candidate(3, "a", accessed: 9, received: 7))
    #expect(try !plan.supersedes(1, "a", 0))
    #expect(try plan.supersedes(2, "a", 0) && plan.supersedes(3, "a", 0))
    #expect(try !plan.supersedes(2, "a", 1) && !plan.supersedes(2, "b", 0))
  }

  @Test func `without limits every row has room, whatever it takes`() throws {
    let plan = try plan()
    try plan.add(candidate(1, "a", accessed: .max, bytes: .min, replaces: true))
    try plan.add(candidate(2, "b", accessed: .min, bytes: .max))
    try plan.add(candidate(.min, "c", accessed: 0, bytes: 0))
    try plan.decide(bytes: .max, entries: nil)
    for row in [Int64(1), 2, .min] { #expect(plan.admits(row, accessed: .distantPast)) }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `the result is that of the rows in order, whatever order they come in`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let rows = (1...60).map { row in
      candidate(
        Int64(row), ByteString("k\(row)"), accessed: Int64(random.below(20)),
        bytes: Int64(random.below(30)) - 5, replaces: random.below(4) == 0)
    }
    let limit = (bytes: Int64(300), entries: Int64(25))
    var (bytes, entries, isOver) = (limit.bytes, limit.entries, false)
    var expected: Set<Int64> = []
    for row in rows.sorted(by: { ($0.accessed, $0.row) > ($1.accessed, $1.row) }) {
      bytes -= row.bytes
      if !row.replaces { entries -= 1 }
      isOver = isOver || bytes < 0 && row.bytes > 0 || entries < 0 && !row.replaces
      if !isOver { expected.insert(row.row) }
    }
    let plan = try plan()
    for row in rows.shuffled(using: &random) { try plan.add(row) }
    try plan.decide(bytes: limit.bytes, entries: limit.entries)
    #expect(Set(rows.filter { plan.admits($0.row, accessed: $0.accessed) }.map(\.row)) == expected)
    #expect(!expected.isEmpty && expected.count < 60)
  }
}
