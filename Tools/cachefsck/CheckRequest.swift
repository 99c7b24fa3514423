import CommandLineTools
import StoreChecking

struct CheckRequest: Sendable {
  var depth: CheckDepth
  /// The level of the repair, or `nil` for none; see `isDryRun`.
  var repair: RepairLevel?
  var isDryRun: Bool
  var jobs: Int
  var isJSON: Bool
  /// Whether the progress is shown; `nil` if that depends on standard error being a terminal.
  var showsProgress: Bool?
  var isResumed: Bool

  /// Reads a command line.
  init(_ invocation: Invocation) throws(UsageError) {
    let options = Declarations.self
    repair = invocation[options.repair]
    isDryRun = invocation[options.dryRun]
    if isDryRun, repair == nil {
      throw invocation.usageError(
        "--dry-run says what a repair would do, and --repair is not given",
        remedy: "add --repair safe or --repair all; without it nothing is ever written")
    }
    try invocation.exclude(options.quick, options.deep, remedy: "leave one of them out")
    let isDeep = invocation[options.deep] || repair != nil && !invocation[options.quick]
    depth = isDeep ? .deep : .quick
    try invocation.exclude(options.progress, options.noProgress, remedy: "leave one of them out")
    showsProgress =
      invocation[options.progress] ? true : invocation[options.noProgress] ? false : nil
    jobs = invocation[options.jobs] ?? Declarations.defaultJobs
    isJSON = invocation[options.json]
    isResumed = invocation[options.resume]
    try invocation.exclude(options.repair, options.resume, remedy: "leave one of them out")
  }

  /// The level of the repair whose effect is shown; `nil` without `--dry-run`.
  var forecast: RepairLevel? { isDryRun ? repair : nil }
  /// Returns whether the repair is meant to repair a finding.
  func reaches(_ finding: Finding) -> Bool {
    guard let repair else { return false }
    return repair.reaches(finding.kind) != finding.isException
  }
  /// The level of the repair that is carried out; `nil` with `--dry-run`.
  var effectiveRepair: RepairLevel? { isDryRun ? nil : repair }
}
