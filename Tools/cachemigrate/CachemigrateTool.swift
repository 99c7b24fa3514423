import CommandLineTools

/// The command `cachemigrate`: moves the caches of other libraries into a store.
@main
enum CachemigrateTool {
  static func main() async {
    await Tool.main(Declarations.tool, statuses: .fsck, patience: 10) {
      invocation in
      try MigrationRun(MigrationRequest(invocation)).run()
    }
  }
}
