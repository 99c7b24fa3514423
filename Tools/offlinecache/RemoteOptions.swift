import CacheClient
import CommandLineTools
import CurlHTTP
import HTTPTransports
import RemoteTier

/// The options for a second tier, shared by all commands that use one.
enum RemoteOptions {
  private static let group = "Second tier"

  static let url = Option(
    "remote", .text.named("URL"), repeats: true, group: group,
    help: "Share responses with other machines through this server; several servers divide them. "
      + "Credentials are taken from OFFLINECACHE_REMOTE_LOGIN (NAME:PASSWORD) or "
      + "OFFLINECACHE_REMOTE_TOKEN")
  private static let mode = Option(
    "remote-mode", ValueKind<RemoteMode>.choice, default: .both, group: group,
    help: "Look responses up, offer them, or both")
  private static let namespace = Option(
    "remote-namespace", .text.named("NAME"), defaultText: "default", group: group,
    help: "The group of machines that share responses")
  private static let secretFile = Option(
    "remote-secret-file", .path.named("FILE"), defaultText: "OFFLINECACHE_REMOTE_SECRET",
    group: group,
    help: "The secret of the namespace, at least 16 bytes; line ends at the end are ignored")
  private static let region = Option(
    "remote-s3-region", .text.named("REGION"), group: group,
    help: "The servers are S3 services in this region; the keys are taken from AWS_ACCESS_KEY_ID, "
      + "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN")

  static let all: [any OptionDeclaration] = [url, mode, namespace, secretFile, region]

  /// Returns the set-up of the command line, or `nil` without `--remote`.
  ///
  /// - Throws: `UsageError`; ``ToolError`` for a file that cannot be read.
  static func read(_ invocation: Invocation) throws -> RemoteCacheOptions? {
    let urls = invocation.all(url)
    guard !urls.isEmpty else {
      if invocation.all(mode).isEmpty, invocation.all(namespace).isEmpty,
        invocation.all(secretFile).isEmpty, invocation.all(region).isEmpty
      {
        return nil
      }
      throw invocation.usageError(
        "options of a second tier are given without its server",
        remedy: "add --remote URL, or leave them out")
    }
    let access = try access(invocation)
    let secret = try secret(invocation)
    var options: RemoteCacheOptions
    do throws(RemoteCacheError) {
      let servers = try urls.map { url throws(RemoteCacheError) in
        try RemoteServer(url, access: access)
      }
      options = try RemoteCacheOptions(
        servers: servers, namespace: invocation[namespace] ?? "default", secret: secret,
        mode: invocation.value(of: mode))
    } catch {
      throw invocation.usageError("\(error.subject): \(error.problem)", remedy: error.remedy)
    }
    options.onNotice = { printMessage("offlinecache: \($0)") }
    return options
  }

  /// Returns the set-up for a command that cannot do without one.
  static func required(_ invocation: Invocation) throws -> RemoteCacheOptions {
    guard !invocation.all(url).isEmpty, let options = try read(invocation) else {
      throw invocation.usageError("no server is named", remedy: "give --remote URL")
    }
    return options
  }

  /// Returns a tier with connections of its own.
  static func tier(_ options: RemoteCacheOptions, _ setup: NetworkSetup) throws -> RemoteCache {
    var options = options
    let own = own(setup, options)
    options.fit(into: own.connections)
    return RemoteCache(options: options, transport: try CurlTransport(own))
  }

  /// Returns a tier as ``tier(_:_:)`` does, for a command that asks origins with the same set-up;
  /// `nil` without `--remote`.
  ///
  /// - Throws: `UsageError` also for a client certificate: the answers that a server gives to its
  ///   owner may be meant for nobody else, and do not say so.
  static func tierBesideOrigins(
    _ invocation: Invocation, _ setup: NetworkSetup
  ) throws -> RemoteCache? {
    if setup.clientCertificate != nil, !invocation.all(url).isEmpty {
      throw invocation.usageError(
        "--client-cert and --remote exclude each other: what servers send to the owner of the "
          + "certificate may be meant for nobody else",
        remedy: "leave one of them out")
    }
    return try read(invocation).map { try tier($0, setup) }
  }

  /// Returns the connections to origins beside a tier, of all that the limit of open files allows.
  static func originShare(of connections: Int) -> Int { max(1, connections / 4 * 3) }

  /// Returns the set-up of the connections to the servers of a tier. Their number has nothing to do
  /// with that of an origin, except that a limit of all connections is divided.
  static func own(_ setup: NetworkSetup, _ options: RemoteCacheOptions) -> NetworkSetup {
    var own = setup
    own.usesHTTP2 = false
    own.connectionsPerHost = options.connections
    own.connections = setup.connections / 3
    return own
  }

  /// Reads the purges before anything is answered: this machine may have been away. Without an
  /// answer of a server, the time limits of the tier bound the wait.
  static func readPurges(_ tier: RemoteCache?) async {
    guard let tier, tier.options.mode != .write else { return }
    try? await tier.purges.refresh()
  }

  /// The most time that the program waits at its end for offers.
  private static let lastOffers = Duration.seconds(30)

  /// Waits until what was fetched is offered, and tells if some of it could not be.
  static func finishOffers(of tier: RemoteCache?, _ client: CachingClient? = nil) async {
    guard let tier else { return }
    await waitAtMost(lastOffers) {
      await client?.waitForBackground()
      await tier.drain()
    }
    let numbers = tier.statistics
    let failed =
      numbers.offersFailed.values.reduce(0, +) + numbers.offersDropped
      + UInt64(numbers.offersWaiting)
    guard failed > 0 else { return }
    let reasons = numbers.offersFailed.keys.map(\.rawValue).sorted().joined(separator: ", ")
    printMessage(
      "offlinecache: \(failed) responses were not offered to the second tier"
        + (reasons.isEmpty ? "" : " (\(reasons))") + "; check it with 'offlinecache remote check'")
  }

  private static func access(_ invocation: Invocation) throws -> RemoteServer.Access {
    func variable(_ name: String) throws -> String? {
      guard let argument = Argument.environment(name) else { return nil }
      guard let text = argument.text else {
        throw ToolError(subject: name, problem: "it is not UTF-8", remedy: "set it again")
      }
      return text
    }
    if let region = invocation[region] {
      guard let key = try variable("AWS_ACCESS_KEY_ID"),
        let secret = try variable("AWS_SECRET_ACCESS_KEY")
      else {
        throw invocation.usageError(
          "--remote-s3-region needs keys",
          remedy: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
      }
      return .s3(
        S3Credentials(
          region: region, accessKey: key, secretKey: secret,
          sessionToken: try variable("AWS_SESSION_TOKEN")))
    }
    if let token = try variable("OFFLINECACHE_REMOTE_TOKEN") { return .bearer(token: token) }
    guard let login = try variable("OFFLINECACHE_REMOTE_LOGIN") else { return .open }
    guard let colon = login.firstIndex(of: ":") else {
      throw ToolError(
        subject: "OFFLINECACHE_REMOTE_LOGIN", problem: "it has no colon",
        remedy: "set it to NAME:PASSWORD")
    }
    return .basic(
      user: String(login[..<colon]), password: String(login[login.index(after: colon)...]))
  }

  private static let secretBytes = 4096

  private static func secret(_ invocation: Invocation) throws -> [UInt8] {
    var bytes: [UInt8] = []
    if let path = invocation[secretFile] {
      bytes = try InputFile.bytes(of: path)
    } else if let given = Argument.environment("OFFLINECACHE_REMOTE_SECRET") {
      bytes = given.bytes
    } else {
      throw invocation.usageError(
        "there is no secret for --remote",
        remedy: "give --remote-secret-file FILE, or set OFFLINECACHE_REMOTE_SECRET")
    }
    while let last = bytes.last, last == 0x0a || last == 0x0d { bytes.removeLast() }
    return Array(bytes.prefix(secretBytes))
  }
}

extension RemoteCacheOptions {
  /// Lowers the limits of look-ups and offers to what so many connections carry; 0 is no limit. One that
  /// waited for a connection would look like one to a server that does not answer.
  mutating func fit(into connections: Int) {
    if connections == 0 { return }
    let ofEach = connections / max(1, servers.count)
    uploads = max(1, min(uploads, ofEach / 8))
    maximumLookUps = max(1, min(maximumLookUps, ofEach - uploads - 1))
  }
}
