import CacheStore
import CommandLineTools
import StoreMigration

struct MigrationRun {
  private let request: MigrationRequest

  init(_ request: MigrationRequest) { self.request = request }

  /// Migrates, or shows the plan.
  ///
  /// - Throws: The error that keeps the migration from beginning (with `--json`, after printing the
  ///   summary); `OutputError` for standard output.
  func run() throws -> ExitStatus {
    let stop = MigrationStop()
    Interruption.onRequest { stop.request() }
    let migration: Migration
    let point: ResumePoint?
    var earlier: ResumeState?
    let report: ReportFile?
    do {
      try checkReport()
      try checkStore(Argument(request.destination))
      migration = try Migration(
        from: request.source, to: request.destination, options: request.options, stop: stop)
      for warning in migration.source.warnings { warn(warning) }
      point = request.options.isDryRun ? nil : resumePoint(migration.source)
      earlier = point.flatMap(earlierState)
      report = try openReport(&earlier)
    } catch {
      if request.isJSON { try print(MigrationSummary(request: request, failure: error)) }
      throw error
    }
    let line = ProgressLine(total: nil)
    let watcher = RowWatcher(
      point, report, line, total: Int(clamping: migration.source.rowCount), stop: stop,
      earlier: earlier)
    var failure: (any Error)?
    do throws(MigrationError) {
      try migration.run(after: earlier?.row) { watcher.take($0, migration.counts) }
      watcher.finish()
      if watcher.outputError == nil { point?.file.remove() }
    } catch {
      failure = error
      watcher.save(migration.counts)
      watcher.finish()
    }
    migration.store?.close()
    line.finish()
    failure = watcher.outputError ?? failure
    if let problem = watcher.stateProblem { warn("\(problem.text); --resume will not go on here") }
    let canResume =
      point != nil && (watcher.row ?? earlier?.row) != nil && watcher.stateProblem == nil
      && watcher.outputError == nil
    return try finish(migration, earlier, failure, canResume: canResume)
  }

  private func finish(
    _ migration: Migration, _ earlier: ResumeState?, _ failure: (any Error)?, canResume: Bool
  ) throws -> ExitStatus {
    var counts = earlier?.counts ?? MigrationCounts()
    counts.add(migration.counts)
    let summary = MigrationSummary(
      request: request, migration: migration, counts: counts,
      earlierRows: earlier?.counts.rows ?? 0,
      failure: failure)
    if let failure {
      let after = "after \(counts.rows) rows" + (canResume ? "; --resume goes on there" : "")
      printMessage(
        "cachemigrate: \(failure) " + (summary.status == .cancelled ? after : "(\(after))"))
    }
    try print(summary)
    return summary.status
  }

  private func print(_ summary: MigrationSummary) throws {
    try Output.printLines(request.isJSON ? [summary.json.line] : summary.lines)
  }

  // MARK: The report

  private func checkReport() throws {
    guard let report = request.report else { return }
    try MigrationPlaces.check(
      report: report, source: request.source, destination: request.destination)
    try checkOutput(Argument(report))
  }

  private func openReport(_ earlier: inout ResumeState?) throws -> ReportFile? {
    // The destination may have just been created.
    try checkReport()
    guard let path = request.report else { return nil }
    // Another file is written anew, whatever it has.
    let isSame = earlier?.report == ReportFile.name(of: path, isJSON: request.reportsJSON)
    let report = try ReportFile(
      path, isJSON: request.reportsJSON, keeping: isSame ? earlier?.reportLength ?? 0 : 0)
    guard let state = earlier else { return report }
    let lacksRows = !isSame || report.keptBytes < state.reportLength
    if lacksRows { earlier?.reportedRows = 0 }
    if !isSame {
      warn("the report begins here, without the rows that were moved earlier")
    } else if lacksRows || state.reportedRows < state.counts.rows {
      warn("the report lacks some of the rows that were moved earlier; it goes on without them")
    }
    return report
  }

  // MARK: Going on

  private func resumePoint(_ source: SourceCache) -> ResumePoint? {
    do throws(StateFile.Problem) {
      return try ResumePoint(request, source.files, source.format)
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
    printMessage("cachemigrate: \(request.source): warning: \(text)")
  }
}
