import Testing

@testable import StoreMigration

@Suite struct MigrationResultTests {
  @Test func `rows that name one huge sparse file do not overflow the sums`() {
    var counts = MigrationCounts()
    let row = RowResult(
      row: 1, key: "", mappedURL: nil, bytes: UInt64(Int64.max), hasAuthorization: false,
      outcome: .converted(replaced: false))
    for _ in 0..<3 { counts.add(row, blockBytes: 4_096) }
    #expect(counts.bytes == .max && counts.neededBytes == .max)
    counts.add(counts)
    #expect(counts.converted == 6 && counts.bytes == .max && counts.neededBytes == .max)
  }
}
