import CacheSystem
import CommandLineTools
import StoreChecking

/// The check of one store: from its path to the printed report and the exit status.
struct StoreCheck {
  let argument: Argument
  let request: CheckRequest
  let isOneOfSeveral: Bool

  /// Checks the store and prints the findings.
  ///
  /// - Throws: `OutputError`. Problems of the store are printed and set the status; they are not
  ///   thrown.
  func run() throws -> ExitStatus {
    guard let path = argument.text else {
      let error = CheckError(
        .inputOutput, path: "", cause: "the path is not UTF-8",
        remedy: "go into the folder and name it '.'")
      return try finish(Verdict(argument: argument, request: request, error: error))
    }
    let clock = SystemClock()
    let point = request.repair == nil ? resumePoint(path) : nil
    let earlier = point.flatMap { earlierState($0, path, clock.now()) }
    var options = CheckOptions(
      depth: request.depth, repair: request.effectiveRepair, jobs: request.jobs,
      skippedShards: earlier?.shards ?? [])
    options.forecast = request.forecast
    let checker = StoreChecker(at: path, options: options)
    let line = ProgressLine(total: nil, isEnabled: request.showsProgress ?? Terminal.isTerminal(2))
    let json = request.isJSON ? JSONReport(argument: argument, request: request) : nil
    let (request, before) = (request, earlier?.tally ?? [:])
    let watcher = Watcher(checker, line: line, json: json, earlier: earlier) {
      progress, tally throws(StateFile.Problem) in
      guard let point else { return }
      var sum = before
      sum.add(tally)
      try point.file.save(
        ResumeState(
          storeID: point.storeID, depth: request.depth, saved: clock.now(), progress: progress,
          tally: sum
        ).encoded)
    }
    Interruption.onRequest { checker.cancel() }
    var verdict = Verdict(argument: argument, request: request, earlier: earlier)
    do throws(CheckError) {
      verdict.report = try checker.run(watcher)
      point?.file.remove()
    } catch {
      verdict.error = error
      watcher.saveState()
      verdict.canResume =
        point != nil && watcher.stateProblem == nil && watcher.progress?.shards.isEmpty == false
    }
    line.finish()
    if let error = watcher.outputError { throw error }
    if let problem = watcher.stateProblem { warn("\(problem.text); --resume will not go on here") }
    verdict.take(watcher)
    return try finish(verdict)
  }

  /// Returns the state file. Without one, a check starts from the beginning and cannot be resumed.
  private func resumePoint(_ path: String) -> ResumePoint? {
    do throws(StateFile.Problem) {
      return try ResumePoint(store: path, request)
    } catch {
      if request.isResumed { warn("\(error.text); the check begins at the beginning") }
      return nil
    }
  }

  private func earlierState(_ point: ResumePoint, _ path: String, _ now: Int64) -> ResumeState? {
    guard request.isResumed else { return nil }
    do throws(StateFile.Problem) {
      if let state = try point.state(for: request, store: path, now: now) { return state }
      warn("no \(request.depth.rawValue) check was interrupted; it begins at the beginning")
    } catch {
      warn("\(error.text); the check begins at the beginning")
    }
    return nil
  }

  private func finish(_ verdict: Verdict) throws -> ExitStatus {
    if let text = verdict.errorText { printMessage("cachefsck: \(text)") }
    if request.isJSON {
      try JSONReport(argument: argument, request: request).write(verdict)
    } else {
      try TextReport(verdict: verdict, hasTitle: isOneOfSeveral).write()
    }
    return verdict.status
  }

  private func warn(_ text: String) {
    printMessage("cachefsck: \(argument): warning: \(terminalSafe(text))")
  }
}
