import CommandLineTools
import Testing

@testable import StoreMigration
@testable import cachemigrate

@Suite struct RowWatcherTests {
  @Test func `rows that name one sparse file do not overflow the progress`() {
    let line = ProgressLine(total: 3, isEnabled: false)
    let watcher = RowWatcher(nil, nil, line, total: 3, stop: MigrationStop(), earlier: nil)
    for row in 1...3 as ClosedRange<Int64> {
      let result = RowResult(
        row: row, key: "", mappedURL: nil, bytes: UInt64(Int64.max), hasAuthorization: false,
        outcome: .skipped(RowReason(.entryTooLarge), detail: ""))
      watcher.take(result, MigrationCounts())
    }
    #expect(watcher.row == 3)
  }
}
