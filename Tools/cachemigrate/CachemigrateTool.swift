import CommandLineTools

@main
enum CachemigrateTool {
  static func main() async {
    await Tool.main(Declarations.tool, statuses: .fsck, patience: 10) { invocation in
      try MigrationRun(MigrationRequest(invocation)).run()
    }
  }
}
