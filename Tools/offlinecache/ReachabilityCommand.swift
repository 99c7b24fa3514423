import CacheFormat
import CacheSystem
import CommandLineTools
import Reachability

enum ReachabilityCommand: ToolCommand {
  private static let watch = Flag("watch", help: "Continue and print each change, until Ctrl-C")
  private static let probe = Option(
    "probe",
    ValueKind("HOST:PORT", expected: "a host and a port such as example.org:443 or [::1]:80") {
      NetworkProbe($0)
    }, help: "Confirm a network by a TCP connection to this server")
  private static let timeout = Option(
    "timeout", .timeout, default: .seconds(3), help: "How long the connection of --probe may take")
  private static let interval = Option(
    "interval", .timeout, default: .seconds(15),
    help: "The time between two probes while nothing else changes")
  private static let constrained = Option(
    "constrained", .text.named("LINK"), defaultText: "'ww*', 'rmnet*', 'ppp*'", repeats: true,
    help: "Treat links of this name as constrained, not the default names; it may end with *")

  static let declaration = Command(
    "reachability", summary: "Prints whether there is a network: none, constrained or free",
    discussion: [
      "There is a network if the system has a route to public addresses through a link that is "
        + "up; loopback does not count. Links with the names of modems count as constrained, because "
        + "the system does not report what a connection costs.",
      "Each line has the state and the reason, with --watch after the time.",
    ],
    options: [watch, probe, timeout, interval, constrained, Declarations.json],
    examples: [
      .init(
        "offlinecache reachability && offlinecache fetch --urls-from list.txt", "Fetches if free"),
      .init(
        "offlinecache reachability --watch --probe example.org:443",
        "Follows the network, and checks whether a server can be reached"),
    ],
    exitStatuses: [
      (.success, "The network is free"), (.notFound, "There is no network"),
      (constrainedStatus, "The network is constrained"),
    ], usesGlobalOptions: false)

  private static let constrainedStatus = ExitStatus(rawValue: 3)

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    for (option, name) in [(timeout, "--timeout"), (interval, "--interval")]
    where invocation[probe] == nil && !invocation.all(option).isEmpty {
      throw invocation.usageError("\(name) needs --probe", remedy: "name a server with it")
    }
    let reachability = try SystemReachability(options(invocation))
    Interruption.onRequest { reachability.stop() }
    let output = Output.standard()
    var last = NetworkQuality.none
    for await state in reachability.changes() {
      try output.write(line(state, invocation) + "\n")
      try output.flush()
      last = state.quality
      if !invocation[watch] { break }
    }
    try Interruption.check()
    reachability.stop()
    return status(last)
  }

  private static func options(_ invocation: Invocation) -> ReachabilityOptions {
    var options = ReachabilityOptions()
    let links = invocation.all(constrained)
    if !links.isEmpty { options.constrainedLinks = links }
    options.probe = invocation[probe]
    options.probe?.timeout = invocation.value(of: timeout)
    options.probe?.interval = invocation.value(of: interval)
    return options
  }

  private static func line(_ state: NetworkState, _ invocation: Invocation) -> String {
    let time = Timestamp(nanoseconds: SystemClock().now()).description
    guard invocation[Declarations.json] else {
      let words = terminalSafe(state.description)
      return invocation[watch] ? "\(time) \(words)" : words
    }
    return JSONText.object([
      ("time", .string(time)), ("quality", .string(state.quality.rawValue)),
      ("links", .array(state.links.map { .string($0) })), ("reason", .string(state.reason)),
    ]).line
  }

  private static func status(_ quality: NetworkQuality) -> ExitStatus {
    switch quality {
    case .none: .notFound
    case .constrained: constrainedStatus
    case .free: .success
    }
  }
}
