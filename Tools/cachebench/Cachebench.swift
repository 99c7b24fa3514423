import CLibrary
import CommandLineTools

/// The benchmark: parses the command line, runs the workloads, removes its folder.
@main
enum Cachebench {
  static func main() {
    Interrupt.install()
    do throws(BenchmarkError) {
      let arguments = CommandLine.arguments.dropFirst()
      if let role = arguments.first.flatMap({ ChildRole(rawValue: $0) }) {
        try role.run(Array(arguments.dropFirst()))
      } else if let configuration = try configuration() {
        try run(configuration)
      }
    } catch {
      printMessage("cachebench: \(error)")
      exit(error.exitCode)
    }
  }

  /// Reads the command line; returns nil when help or version was all that was wanted.
  private static func configuration() throws(BenchmarkError) -> Configuration? {
    do throws(UsageError) {
      switch try Configuration.command.parse(Argument.ofProcess()) {
      case .run(let invocation): return Configuration(invocation)
      case .help(let text): emit(text)
      case .version(let line): emit(line + "\n")
      }
      return nil
    } catch {
      throw .usage("\(error.problem); \(error.remedy)")
    }
  }

  private static func run(_ configuration: Configuration) throws(BenchmarkError) {
    let workspace = try Workspace(
      base: configuration.directory, isKept: configuration.isKept)
    defer { workspace.removeAll() }
    #if DEBUG
      progress("warning: a debug build; only a release build says how fast anything is")
    #endif
    FileTree.warnOfRecentRemovals(in: workspace.path)
    try Bench(configuration, workspace: workspace).run()
  }
}
