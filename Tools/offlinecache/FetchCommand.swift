import CommandLineOptions

enum FetchCommand {
  static let declaration = Command("fetch", summary: "Fetches")
  static func run(_ invocation: Invocation) async throws -> ExitStatus { .success }
}
