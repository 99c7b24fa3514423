import CLibrary
import CacheStore
import CommandLineTools
import Testing
import ToolTesting

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

  private static func result(_ row: Int64, _ key: String) -> RowResult {
    RowResult(
      row: row, key: key, mappedURL: nil, bytes: 1, hasAuthorization: false,
      outcome: .converted(replaced: false))
  }

  private static func makePoint(_ tool: ToolRun) throws -> ResumePoint {
    unsafe setenv("XDG_STATE_HOME", tool.stateHome, 1)
    try Store(at: tool.store).close()
    try tool.write([1], to: tool.path("m"))
    let words = [tool.path("m"), tool.store].map { Argument($0) }
    guard case .run(let invocation) = try Declarations.tool.parse(words) else { fatalError() }
    return try ResumePoint(
      MigrationRequest(invocation), DatabaseFiles(of: tool.path("m")), .yycache)
  }

  @Test func `the state of a run without a report keeps what the report has`() async {
    await #expect(processExitsWith: .success) {
      let tool = ToolRun()
      let point = try RowWatcherTests.makePoint(tool)
      var counts = MigrationCounts()
      counts.rows = 3
      let earlier = ResumeState(
        subject: point.subject, row: 3, counts: counts, reportLength: 55, reportedRows: 3)
      let line = ProgressLine(total: nil, isEnabled: false)
      for (path, reported) in [(nil, 3), (tool.path("report"), 4)] as [(String?, Int)] {
        let report = try path.map { try ReportFile($0, isJSON: true, keeping: 0) }
        let watcher = RowWatcher(
          point, report, line, total: 4, stop: MigrationStop(), earlier: earlier)
        watcher.take(RowWatcherTests.result(4, "a"), MigrationCounts())
        watcher.save(MigrationCounts())
        let saved = try point.state()
        precondition(saved?.row == 4 && saved?.reportedRows == reported)
        precondition((saved?.reportLength == 55) == (report == nil))
      }
    }
  }

  #if os(Linux)
    /// Lets the files of this process, which ends soon, have at most so many bytes.
    private static func limitFiles(to bytes: rlim_t) {
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
      // Safety: the call takes the local.
      let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      precondition(result == 0)
    }

    @Test func `a report that cannot be written ends the migration, and no state counts its rows`()
      async
    {
      await #expect(processExitsWith: .success) {
        let tool = ToolRun()
        let point = try RowWatcherTests.makePoint(tool)
        let report = try ReportFile(tool.path("report"), isJSON: true, keeping: 0)
        let stop = MigrationStop()
        let watcher = RowWatcher(
          point, report, ProgressLine(total: nil, isEnabled: false), total: 2, stop: stop,
          earlier: nil)
        watcher.take(RowWatcherTests.result(1, "a"), MigrationCounts())
        watcher.save(MigrationCounts())
        let saved = try point.state()
        precondition(saved?.row == 1 && !stop.isRequested)
        RowWatcherTests.limitFiles(to: 4096)
        let long = String(repeating: "k", count: 20_000)
        watcher.take(RowWatcherTests.result(2, long), MigrationCounts())
        watcher.save(MigrationCounts())
        precondition(watcher.outputError != nil && watcher.stateProblem == nil)
        precondition(stop.isRequested)
        let after = try point.state()
        precondition(after == saved)
      }
    }
  #endif
}
