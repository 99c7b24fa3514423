import CacheClient
import CommandLineTools
import CurlHTTP
import HTTPCaching
import HTTPSemantics

enum FetchCommand: ToolCommand {
  private static let urls = Parameter(
    "url", .address, .any, help: "The URLs to fetch; http or https")
  private static let folder = Option(
    "output-dir", .path.named("DIR"),
    help:
      "Write each body below a folder, as scheme/host/path?query; percent-escapes of the path are "
      + "decoded, but not those of /, %, ? and control characters; where a page and a folder have "
      + "the same name, the second one gets a % after it")
  private static let offline = Flag(
    "offline",
    help: "Use the store alone, never the network; with --remote, look missing responses up there")
  private static let refresh = Flag(
    "refresh", help: "Ask the server even if the response is stored")
  private static let jobs = Option(
    "jobs", short: "j", .integer(in: 1...64), default: 4, help: "The number of fetches at once")
  private static let quiet = Flag("quiet", short: "q", help: "Print errors only")

  static let declaration = Command(
    "fetch", summary: "Fetches URLs through the store, or with --offline from the store alone",
    discussion: [
      "Bodies stay in the store; -o and --output-dir write them out as well. Each URL gets a line "
        + "on standard output: 'stored' (fetched and kept), 'passed' (fetched, not kept "
        + "for reuse, for the reason after the URL; --offline may find it in the history), 'hit' (from "
        + "the store), 'remote' (from the second tier), 'valid' (from the store, confirmed by the "
        + "server), 'stale' (from the store, because the server could not be reached) or 'local' "
        + "(from a file of --substitute), the HTTP status, the length and the URL.",
      "A URL that is not in the store (--offline), or that the server answers with a 4xx, counts as "
        + "not found; any other status than 2xx is a failure. The other URLs are still fetched, "
        + "unless one that is no URL was given on the command line.",
    ],
    parameters: [urls],
    options: [
      GetCommand.output, folder, AddressList.option, offline, refresh, jobs, quiet,
      HeaderOption.option, SubstituteOption.option,
    ] + NetworkOptions.allForTransfers + [FingerprintOption.option] + HistoryOption.all
      + RemoteOptions.all,
    examples: [
      .init("offlinecache fetch https://example.org/ -o page.html", "Fetches one page to a file"),
      .init(
        "offlinecache fetch --urls-from list.txt --jobs 8", "Fills the store with many pages"),
      .init(
        "offlinecache fetch --offline --urls-from list.txt --output-dir site",
        "Writes them all to files, without a network"),
    ])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    try invocation.exclude(offline, refresh)
    try invocation.exclude(GetCommand.output, folder)
    let addresses = try AddressList.all(invocation, urls)
    if addresses.isEmpty {
      if let list = invocation[AddressList.option] {
        printMessage("offlinecache: \(InputFile.name(of: list)): it has no URL")
        return .success
      }
      throw invocation.usageError(
        "there is nothing to fetch", remedy: "give a URL, or --urls-from FILE")
    }
    if invocation[GetCommand.output] != nil, addresses.count > 1 {
      throw invocation.usageError(
        "-o takes one body, but there are \(addresses.count) URLs",
        remedy: "use --output-dir DIR for several")
    }
    let target = try target(invocation)
    let setup = try NetworkOptions.setup(invocation)
    var options = ClientOptions(transport: NetworkOptions.transportOptions(invocation))
    options.substitutes = try SubstituteOption.read(invocation)
    options.fingerprintKey = try FingerprintOption.read(invocation)
    try HistoryOption.apply(invocation, to: &options.rules)
    let login = try LoginOption.read(invocation, for: addresses)
    options.credentials = login?.provider
    let tier = try RemoteOptions.tierBesideOrigins(invocation, setup)
    options.remote = tier
    options.asksRemoteOffline = invocation[offline]
    let hasOthers = tier != nil || options.substitutes != nil
    let use: StoreUse =
      if invocation[offline] {
        hasOthers ? .readOrCreate : .read
      } else {
        // What others have purged could not be removed from a store that cannot be written.
        tier == nil ? .readOrCreate : .fill
      }
    return try await withStore(invocation, use) { store in
      let client = CachingClient(
        store: store, transport: try CurlTransport(setup), options: options)
      login?.use(by: client)
      await RemoteOptions.readPurges(tier)
      let run = FetchRun(
        client: client, policy: policy(invocation), target: target,
        addresses: addresses, fields: HTTPFields(invocation.all(HeaderOption.option)),
        isQuiet: invocation[quiet])
      let status = try await run.all(jobs: invocation.value(of: jobs))
      await RemoteOptions.finishOffers(of: tier, client)
      RemoteNumbers.add(tier, to: store)
      return status
    }
  }

  private static func policy(_ invocation: Invocation) -> CachePolicy {
    if invocation[offline] { return .offline }
    return invocation[refresh] ? .reload : .protocolRules
  }

  private static func target(_ invocation: Invocation) throws(OutputError) -> FetchTarget {
    if let file = invocation[GetCommand.output] { return .file(file) }
    guard let folder = invocation[folder] else { return .none }
    return .folder(try OutputFolder(folder))
  }
}

extension ValueKind where Value == String {
  /// An http or https URL, unchanged from the command line.
  static var address: ValueKind {
    ValueKind("URL") { argument throws(InvalidValue) in
      guard let text = argument.text else {
        throw InvalidValue(expected: "a URL such as https://example.org/page")
      }
      let url: NormalizedURL
      do throws(InvalidURL) {
        url = try NormalizedURL(text)
      } catch {
        // The text comes without the password of the URL, and is cut if it is long.
        throw InvalidValue(problem: error.problem, remedy: error.remedy)
      }
      do throws(ToolError) {
        try AddressList.checkCredentials(text, url)
      } catch {
        throw InvalidValue(problem: "\(error.subject): \(error.problem)", remedy: error.remedy)
      }
      return text
    }
  }
}
