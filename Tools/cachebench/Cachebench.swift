import CommandLineTools

@main
enum Cachebench {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    if let role = arguments.first.flatMap({ ChildRole(rawValue: $0) }) {
      return try role.run(Array(arguments.dropFirst()))
    }
    // Its folder is removed, however long that takes.
    await Tool.main(Configuration.command, patience: 600) { invocation in
      try run(Configuration(invocation))
      return .success
    }
  }

  private static func run(_ configuration: Configuration) throws {
    let workspace = try Workspace(base: configuration.directory)
    defer { workspace.remove(workspace.path) }
    #if DEBUG
      progress("warning: a debug build; only a release build says how fast anything is")
    #endif
    FileTree.warnOfRecentRemovals(in: workspace.path)
    try Bench(configuration, workspace: workspace).run()
  }
}
