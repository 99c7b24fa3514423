import CommandLineTools
import StoreMigration

/// The observer of a migration: shows the progress, writes the report, and saves the state.
final class RowWatcher {
  private let point: ResumePoint?
  private let report: ReportFile?
  private let line: ProgressLine
  private let total: Int
  private let stop: MigrationStop
  private let earlier: ResumeState?
  private var bytes: UInt64 = 0
  private var rows = 0
  private var lastSaved = ContinuousClock.now
  private(set) var row: Int64?
  private(set) var outputError: OutputError?
  private(set) var stateProblem: StateFile.Problem?

  /// The state is saved after this many rows, or after a second.
  private static let savedRows = 1_000

  init(
    _ point: ResumePoint?, _ report: ReportFile?, _ line: ProgressLine, total: Int,
    stop: MigrationStop, earlier: ResumeState?
  ) {
    self.point = point
    self.report = report
    self.line = line
    self.total = total
    self.stop = stop
    self.earlier = earlier
  }

  /// Records the result of a row.
  ///
  /// - Parameter counts: The counts of this run, including the row.
  func take(_ result: RowResult, _ counts: MigrationCounts) {
    row = result.row
    rows += 1
    // Only shown. Many rows may name one sparse file.
    bytes &+= result.bytes
    line.set(
      done: rows, total: max(rows, total - (earlier?.counts.rows ?? 0)), bytes: bytes,
      totalBytes: nil)
    do throws(OutputError) {
      try report?.write(result)
    } catch {
      // The other rows could not be reported.
      outputError = error
      stop.request()
    }
    if rows % Self.savedRows == 0 || ContinuousClock.now - lastSaved >= .seconds(1) {
      save(counts)
    }
  }

  /// Saves the state. Does nothing if there was no row.
  func save(_ counts: MigrationCounts) {
    guard let row, let point, stateProblem == nil, outputError == nil else { return }
    lastSaved = .now
    var sum = earlier?.counts ?? MigrationCounts()
    sum.add(counts)
    do throws(OutputError) {
      try report?.flush()
    } catch {
      // A state must not count bytes of the report that are not on disk.
      outputError = error
      return stop.request()
    }
    do throws(StateFile.Problem) {
      try point.file.save(
        ResumeState(
          subject: point.subject, row: row, counts: sum,
          report: report?.name ?? earlier?.report ?? "-",
          reportLength: report?.length ?? earlier?.reportLength ?? 0,
          reportedRows: (earlier?.reportedRows ?? 0) + (report == nil ? 0 : rows)
        ).encoded)
    } catch { stateProblem = error }
  }

  func finish() {
    guard outputError == nil else { return }
    do throws(OutputError) { try report?.flush() } catch { outputError = error }
  }
}
