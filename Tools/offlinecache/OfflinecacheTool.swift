import CommandLineTools

@main
enum OfflinecacheTool {
  static func main() async {
    await Tool.main(Declarations.tool) { invocation in
      if invocation.path.contains("remote"), invocation.path.count > 2 {
        return try await RemoteCommand.run(invocation)
      }
      if invocation.path.contains("ca"), invocation.path.count > 2 {
        return try CaCommand.run(invocation)
      }
      return switch invocation.command {
      case "fetch": try await FetchCommand.run(invocation)
      case "crawl": try await CrawlCommand.run(invocation)
      case "download": try await DownloadCommand.run(invocation)
      case "check": try await CheckCommand.run(invocation)
      case "upload": try await UploadCommand.run(invocation)
      case "serve": try await ServeCommand.run(invocation)
      case "browse": try await BrowseCommand.run(invocation)
      case "put": try PutCommand.run(invocation)
      case "get": try GetCommand.run(invocation)
      case "show": try ShowCommand.run(invocation)
      case "ls": try ListCommand.run(invocation)
      case "rm": try RemoveCommand.run(invocation)
      case "pin", "unpin": try PinCommand.run(invocation)
      case "trim": try TrimCommand.run(invocation)
      case "settle": try SettleCommand.run(invocation)
      case "limit": try LimitCommand.run(invocation)
      case "reachability": try await ReachabilityCommand.run(invocation)
      case "stats": try StatsCommand.run(invocation)
      default: preconditionFailure("'\(invocation.command)' is declared but not run")
      }
    }
  }
}
