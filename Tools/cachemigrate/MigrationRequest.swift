import CommandLineTools
import StoreMigration

/// The options of a command line.
struct MigrationRequest: Sendable {
  let source: String
  let destination: String
  let format: SourceFormat?
  let mappings: [URLMapping]
  let dropsExpired: Bool
  let ignoresAuthorization: Bool
  let isDryRun: Bool
  let isJSON: Bool
  let report: String?
  let isResumed: Bool

  /// Reads a command line.
  ///
  /// - Throws: `UsageError` for options that exclude each other.
  init(_ invocation: Invocation) throws(UsageError) {
    let options = Declarations.self
    func path(_ argument: Argument) throws(UsageError) -> String {
      guard let text = argument.text else {
        throw invocation.usageError(
          "the path \(argument) is not UTF-8", remedy: "go into the folder and name it '.'")
      }
      return text
    }
    let remedy = "leave one of them out"
    try invocation.exclude(options.keepExpired, options.dropExpired, remedy: remedy)
    try invocation.exclude(options.dryRun, options.resume, remedy: remedy)
    source = try path(invocation.value(of: options.source))
    destination = try path(invocation.value(of: options.destination))
    report = try invocation[options.report].map(path)
    if report == "-" {
      throw invocation.usageError(
        "--report needs a file, and '-' is none",
        remedy: "name a file, or './-' for one of that name")
    }
    format = invocation.value(of: options.from).format
    mappings = invocation.all(options.mapURL)
    dropsExpired = invocation[options.dropExpired]
    ignoresAuthorization = invocation[options.ignoreAuthorization]
    isDryRun = invocation[options.dryRun]
    isJSON = invocation[options.json]
    isResumed = invocation[options.resume]
  }

  /// The options for the library.
  var options: MigrationOptions {
    let place = Argument.environment("TMPDIR")?.text ?? "/var/tmp"
    var options = MigrationOptions(temporaryFolder: place)
    options.format = format
    options.mappings = mappings
    options.dropsExpired = dropsExpired
    options.ignoresAuthorization = ignoresAuthorization
    options.isDryRun = isDryRun
    return options
  }

  /// Whether the report is JSON lines.
  var reportsJSON: Bool {
    isJSON || report?.hasSuffix(".json") == true || report?.hasSuffix(".jsonl") == true
  }
}
