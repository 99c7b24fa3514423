import CacheClient
import CacheFormat
import CommandLineTools
import CurlHTTP
import HTTPSemantics
import RemoteTier

enum RemoteCommand: ToolCommand {
  private static let prefix = Parameter(
    "prefix", .urlPrefix, .any,
    help: "The beginning of the URLs; without one, all responses")
  private static let key = Parameter("url", .address, .any, help: "The URLs of the responses")
  private static let prefixes = Option(
    "prefix", .urlPrefix, repeats: true, help: "Purge all URLs with this beginning")
  private static let tags = Option(
    "tag", .text, repeats: true, help: "Purge all responses with this tag")
  private static let everything = Flag("all", help: "Purge the whole namespace")

  private static let checking = Command(
    "check", summary: "Finds out whether servers can be a second tier",
    discussion: [
      "Puts and reads objects with random names, and removes them where the server allows it. Each "
        + "property gets a line: 'good', 'note' (a restriction) or 'bad' (the server cannot be used)."
    ], options: RemoteOptions.all + NetworkOptions.allForRemote + [Declarations.json],
    examples: [
      .init(
        "offlinecache remote check --remote https://cache.example/team/ --remote-secret-file key",
        "Checks a server")
    ],
    exitStatuses: [
      (.success, "All servers can be used"), (.notFound, "A server cannot be used"),
      (.failure, "A server was not reached, or the check failed"),
    ], usesGlobalOptions: false)

  private static let pushing = Command(
    "push", summary: "Offers stored responses to the other machines",
    discussion: [
      "Responses that are meant for one user, or that a shared cache may not store, are left out."
    ], parameters: [prefix],
    options: RemoteOptions.all + NetworkOptions.allForRemote + [FingerprintOption.option],
    unusedStatuses: [.notFound])

  private static let purging = Command(
    "purge", summary: "Makes all machines of a namespace forget responses",
    discussion: [
      "The machines remove what they have stored within about six seconds, and those that are away "
        + "when they come back."
    ], parameters: [key],
    options: [prefixes, tags, everything] + RemoteOptions.all + NetworkOptions.allForRemote,
    unusedStatuses: [.notFound, .outputClosed], usesGlobalOptions: false)

  static let declaration = Command(
    "remote", summary: "Checks, fills and purges a second tier that machines share",
    subcommands: [checking, pushing, purging])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    let result = await Interruption.cancelling {
      switch invocation.command {
      case "check": try await check(invocation)
      case "push": try await push(invocation)
      default: try await purge(invocation)
      }
    }
    try Interruption.check()
    return try result.get()
  }

  private static func check(_ invocation: Invocation) async throws -> ExitStatus {
    let options = try RemoteOptions.required(invocation)
    var setup = try NetworkOptions.setup(invocation)
    setup.usesHTTP2 = false
    let reports = await RemoteCheck.run(options, transport: try CurlTransport(setup))
    try Interruption.check()
    try Output.printLines(
      invocation[Declarations.json]
        ? [JSONText.array(reports.map(json)).pretty] : reports.flatMap(lines))
    if reports.contains(where: { !$0.isReached }) { return .failure }
    return reports.allSatisfy(\.isUsable) ? .success : .notFound
  }

  private static func lines(_ report: RemoteCheckReport) -> [String] {
    var table = TextTable([("", .left), ("", .left), ("", .left)])
    for property in report.properties {
      table.add([property.state.rawValue, property.name, property.detail])
    }
    let verdict = report.isUsable ? "can be used" : "cannot be used"
    return ["\(terminalSafe(report.url)): \(verdict)"] + table.lines
  }

  private static func json(_ report: RemoteCheckReport) -> JSONText {
    .object([
      ("url", .string(report.url)), ("reached", .bool(report.isReached)),
      ("usable", .bool(report.isUsable)),
      (
        "properties",
        .array(
          report.properties.map {
            .object([
              ("name", .string($0.name)), ("state", .string($0.state.rawValue)),
              ("detail", .string($0.detail)),
            ])
          })
      ),
    ])
  }

  private static func push(_ invocation: Invocation) async throws -> ExitStatus {
    let setup = try NetworkOptions.setup(invocation)
    let tier = try RemoteOptions.tier(RemoteOptions.required(invocation), setup)
    guard tier.options.mode != .read else {
      throw invocation.usageError(
        "nothing can be offered in the mode 'read'", remedy: "leave --remote-mode out")
    }
    var options = ClientOptions()
    options.remote = tier
    options.fingerprintKey = try FingerprintOption.read(invocation)
    let prefixes = invocation[prefix].isEmpty ? [""] : invocation[prefix]
    let transport = try CurlTransport(setup)
    return try await withStore(invocation, .read) { store in
      let client = CachingClient(store: store, transport: transport, options: options)
      var refused = 0
      for prefix in prefixes {
        do throws(RemoteReason) {
          refused += try await client.offerStored(prefix: "GET \(prefix)").refused
        } catch {
          throw ToolError(
            subject: tier.options.servers[0].base.string,
            problem: "the second tier cannot be used (\(error))",
            remedy: "check it with 'offlinecache remote check'")
        }
      }
      RemoteNumbers.add(tier, to: store)
      let numbers = tier.statistics
      let failed = numbers.offersFailed.values.reduce(0, +) + numbers.offersDropped
      try Output.printLines([
        "\(numbers.offersStored) offered, \(refused) not to be shared, \(failed) failed"
      ])
      return failed == 0 ? .success : .failure
    }
  }

  private static func purge(_ invocation: Invocation) async throws -> ExitStatus {
    var scopes: [PurgeList.Scope] = []
    for text in invocation[key] {
      scopes.append(.key(ByteString("GET \(try NormalizedURL(text).string)")))
    }
    scopes += invocation.all(prefixes).map { .prefix(ByteString("GET \($0)")) }
    scopes += invocation.all(tags).map { .tag(ByteString($0)) }
    if invocation[everything] { scopes.append(.everything) }
    guard !scopes.isEmpty else {
      throw invocation.usageError(
        "there is nothing to purge", remedy: "give a URL, --prefix, --tag or --all")
    }
    let tier = try RemoteOptions.tier(
      RemoteOptions.required(invocation), NetworkOptions.setup(invocation))
    for scope in scopes { try await tier.purge(scope) }
    return .success
  }
}

extension ValueKind where Value == String {
  /// The beginning of URLs in their normal form. Where it has the whole host, it may have another form.
  fileprivate static var urlPrefix: ValueKind {
    ValueKind("PREFIX", expected: "the beginning of a URL, such as https://example.org/") { text in
      if text == "http://" || text == "https://" { return text }
      let slashes = text.indices.filter { text[$0] == "/" }
      guard slashes.count > 2 else {
        return (try? NormalizedURL(text + "/")).map { String($0.string.dropLast()) }
      }
      return (try? NormalizedURL(String(text[...slashes[2]]))).map {
        $0.string + text[slashes[2]...].dropFirst()
      }
    }
  }
}
