import CommandLineTools

@main
enum CachefsckTool {
  static func main() async {
    // After an interruption, a repair in progress is finished; after 10 seconds, or a second
    // Ctrl-C, the process is ended.
    await Tool.main(Declarations.tool, statuses: .fsck, patience: 10) { invocation in
      let request = try CheckRequest(invocation)
      let paths = invocation[Declarations.paths]
      var status = ExitStatus.success
      for path in paths {
        if Interruption.requested != nil { return status | .cancelled }
        let check = StoreCheck(argument: path, request: request, isOneOfSeveral: paths.count > 1)
        status = status | (try check.run())
      }
      return status
    }
  }
}
