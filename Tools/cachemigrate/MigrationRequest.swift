import CommandLineTools
import StoreMigration

struct MigrationRequest: Sendable {
  let source: String
  let destination: String
  let options: MigrationOptions
  let isJSON: Bool
  let report: String?
  let isResumed: Bool

  /// Reads a command line.
  init(_ invocation: Invocation) throws(UsageError) {
    let declared = Declarations.self
    func path(_ argument: Argument, _ remedy: String) throws(UsageError) -> String {
      guard let text = argument.text else {
        throw invocation.usageError("the path \(argument) is not UTF-8", remedy: remedy)
      }
      return text
    }
    let enter = "go into the folder and name it '.'"
    let remedy = "leave one of them out"
    try invocation.exclude(declared.keepExpired, declared.dropExpired, remedy: remedy)
    try invocation.exclude(declared.dryRun, declared.resume, remedy: remedy)
    source = try path(invocation.value(of: declared.source), "rename a file; \(enter)")
    destination = try path(invocation.value(of: declared.destination), enter)
    report = try invocation[declared.report].map { argument throws(UsageError) in
      try path(argument, "choose another one")
    }
    var options = MigrationOptions(
      temporaryFolder: Argument.environment("TMPDIR")?.text ?? "/var/tmp")
    options.format = invocation.value(of: declared.from).format
    options.mappings = invocation.all(declared.mapURL)
    options.dropsExpired = invocation[declared.dropExpired]
    options.ignoresAuthorization = invocation[declared.ignoreAuthorization]
    options.isDryRun = invocation[declared.dryRun]
    self.options = options
    isJSON = invocation[declared.json]
    isResumed = invocation[declared.resume]
  }

  var reportsJSON: Bool {
    isJSON || report?.hasSuffix(".json") == true || report?.hasSuffix(".jsonl") == true
  }
}
