import CacheStore
import CommandLineOptions
import StoreMigration
import ToolState

/// One migration: from a request to what is printed and the exit status.
struct MigrationRun {
  private let request: MigrationRequest

  init(_ request: MigrationRequest) { self.request = request }

  /// Migrates, or shows the plan.
  ///
  /// - Throws: what keeps it from beginning; and `OutputError`.
  func run() throws -> ExitStatus {
    let stop = MigrationStop()
    Interruption.onRequest { stop.request() }
    if let report = request.report {
      try Migration.check(output: report, source: request.source)
    }
    let migration = try Migration(
      from: request.source, to: request.destination, options: request.options, stop: stop)
    let point = request.isDryRun ? nil : resumePoint(migration.source.path)
    let earlier = point.flatMap(earlierState)
    let report = try request.report.map {
      try ReportFile($0, isJSON: request.reportsJSON, keeping: earlier?.reportLength ?? 0)
    }
    let line = ProgressLine(total: nil)
    let watcher = RowWatcher(
      point, report, line, total: Int(clamping: migration.source.rowCount), stop: stop,
      earlier: earlier)
    var failure: MigrationError?
    do throws(MigrationError) {
      try migration.run(after: earlier?.row) { watcher.take($0, migration.counts) }
      watcher.finish()
      point?.file.remove()
    } catch {
      failure = error
      watcher.save(migration.counts)
      watcher.finish()
    }
    migration.store?.close()
    line.finish()
    if let error = watcher.outputError { throw error }
    if let problem = watcher.stateProblem { warn("\(problem.text); --resume will not go on here") }
    let canResume = point != nil && watcher.row != nil && watcher.stateProblem == nil
    return try finish(migration, earlier, failure, canResume: canResume)
  }

  private func finish(
    _ migration: Migration, _ earlier: ResumeState?, _ failure: MigrationError?, canResume: Bool
  ) throws -> ExitStatus {
    var counts = earlier?.counts ?? MigrationCounts()
    counts.add(migration.counts)
    let summary = MigrationSummary(
      request: request, migration: migration, counts: counts,
      earlierRows: earlier?.counts.rows ?? 0,
      failure: failure)
    if let failure {
      let remedy = canResume ? "; --resume goes on there" : ""
      printMessage("cachemigrate: \(terminalSafe("\(failure)")) after \(counts.rows) rows\(remedy)")
    }
    let output = Output.standard()
    for line in request.isJSON ? [summary.json.line] : summary.lines { try output.writeLine(line) }
    try output.flush()
    return summary.status
  }

  private func resumePoint(_ database: String) -> ResumePoint? {
    do throws(StateFile.Problem) {
      return try ResumePoint(request, database: database)
    } catch {
      if request.isResumed { warn("\(error.text); the migration begins at the beginning") }
      return nil
    }
  }

  private func earlierState(_ point: ResumePoint) -> ResumeState? {
    guard request.isResumed else { return nil }
    do throws(StateFile.Problem) {
      if let state = try point.state() { return state }
      warn("no migration was interrupted; it begins at the beginning")
    } catch {
      warn("\(error.text); the migration begins at the beginning")
    }
    return nil
  }

  private func warn(_ text: String) {
    printMessage("cachemigrate: \(terminalSafe(request.source)): warning: \(terminalSafe(text))")
  }
}
