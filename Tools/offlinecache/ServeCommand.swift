import CacheClient
import CacheStore
import CacheSystem
import CachingProxy
import CommandLineTools
import CurlHTTP
import HTTPCaching
import HTTPSemantics
import HTTPTransports

/// `serve`: answers HTTP clients through the store.
enum ServeCommand {
  private static let listen = Option(
    "listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 8080),
    help: "Where to listen; port 0 takes a free one")
  private static let origin = Option(
    "origin", .origin,
    help:
      "Be a reverse proxy for this server (http or https, perhaps with a path); without it, be a "
      + "forward proxy for http")
  private static let host = Option(
    "host", .hostName, repeats: true,
    help:
      "Also answer under this name, with any port. A server on loopback answers only as localhost, "
      + "127.0.0.1 and [::1], so that no foreign web page can read it under a name of its own; "
      + "beyond loopback it answers under every name unless some are given")
  private static let trustForwarded = Flag(
    "trust-forwarded",
    help:
      "Trust the fields Forwarded and X-Forwarded-* of clients: only for a server behind another "
      + "proxy, to which nobody else can connect. Without it they are dropped, and the origin gets "
      + "the address of the client that has connected")
  private static let shared = Flag(
    "shared", help: "Cache for many users: responses for one user are not stored")
  private static let setCookie = Option(
    "set-cookie", ValueKind<CacheRules.SetCookie>.choice, default: .drop,
    help: "With --shared: drop stores no Set-Cookie and keeps answers to requests with Cookie or "
      + "Authorization from others once they are stale; keep follows the letter of RFC 9111")
  private static let isPrivate = Flag("private", help: "Cache for one user; this is the default")
  private static let offline = Flag(
    "offline",
    help: "Answer from the store only, however old the responses are; with --remote, look missing "
      + "responses up there")
  private static let memory = Option(
    "memory", .size(in: 0...(1 << 40)), default: 32 << 20,
    help: "The memory for bodies that are requested often")
  private static let log = Option(
    "log", .path.named("FILE"), defaultText: "-",
    help: "Add a line for each response to a file, which SIGHUP reopens; - is standard output, "
      + "none writes no log")
  private static let logFormat = Option(
    "log-format", ValueKind<AccessLogFormat>.choice, default: .text,
    help: "Write lines of text, or JSON objects")
  private static let grace = Option(
    "grace", .duration, default: .seconds(10),
    help: "The time that responses in progress get to finish when the server stops")
  private static let certificate = Option(
    "tls-cert", .path.named("FILE"), group: "TLS for clients",
    help:
      "Be reached by https, with this certificate and those of its authorities (PEM); only with "
      + "--origin. SIGHUP reads both files again")
  private static let key = Option(
    "tls-key", .path.named("FILE"), group: "TLS for clients",
    help: "The private key of --tls-cert (PEM, without a passphrase)")
  private static let connectPort = Option(
    "connect-port", .port, repeats: true, group: "Tunnels",
    help: "Let CONNECT lead to this port as well as to 443; only in a forward proxy")
  private static let allowPrivate = Flag(
    "allow-private", group: "Tunnels",
    help:
      "Let CONNECT lead to this machine and to private networks, even if other machines can use "
      + "this proxy")
  private static let tunnelIdle = Option(
    "tunnel-idle", .duration, default: .seconds(600), group: "Tunnels",
    help: "End a tunnel through which no byte has passed for this time")
  private static let intercept = Flag(
    "intercept", group: "Tunnels",
    help:
      "Answer https requests of clients through the store, with certificates of the user's own "
      + "authority, which the clients have to trust ('offlinecache ca')")
  private static let tunnelled = Option(
    "tunnel", .hostPattern, repeats: true, group: "Tunnels",
    help:
      "With --intercept: do not read what is exchanged with this host; *.HOST for those below it")
  private static let resolve = Option(
    "resolve", .resolve, repeats: true, group: "Network",
    help: "Connect to this address for a host and port, as curl does with the same option")
  private static let proxy = Option(
    "proxy", .proxy, defaultText: "none with --origin, else environment", group: "Network",
    help: "Reach servers through this proxy (http, https, socks5, socks5h), through the one in "
      + "http_proxy and similar variables, or directly")

  static let declaration = Command(
    "serve", summary: "Serves HTTP clients through the store, as a reverse or forward proxy",
    discussion: [
      "With --origin all requests go to that server; without it, clients use it as their http "
        + "proxy. Responses are stored and reused as HTTP caching (RFC 9111) allows. The "
        + "field Cache-Status shows how each response was made; there are status pages at "
        + "/.offlinecache/ (for people) and /.offlinecache/status (JSON).",
      "SIGTERM and Ctrl-C stop it with exit status 0: responses in progress get up to "
        + "--grace to finish. A second signal ends it at once, with 128 and the signal's number.",
    ],
    options: [
      listen, origin, host, trustForwarded, shared, setCookie, isPrivate, offline, memory, log,
      logFormat, grace, SubstituteOption.option, FingerprintOption.option,
      certificate, key, connectPort, allowPrivate, tunnelIdle, intercept,
      tunnelled,
    ] + HistoryOption.all + NetworkOptions.all + [resolve, proxy] + RemoteOptions.all,
    examples: [
      .init(
        "offlinecache serve --origin http://localhost:3000", "Is a reverse proxy for a local server"
      ),
      .init(
        "offlinecache serve --listen 127.0.0.1:3128",
        "Is a proxy for programs with http_proxy=http://127.0.0.1:3128, and the same in https_proxy"
      ),
      .init(
        "offlinecache serve --origin http://localhost:3000 --offline",
        "Answers from the store while the server is away"),
      .init(
        "offlinecache serve --origin http://localhost:3000 --host app.test",
        "Also answers http://app.test:8080/, a name of this machine"),
    ])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    if invocation[shared], invocation[isPrivate] {
      throw invocation.usageError(
        "--shared and --private exclude each other", remedy: "choose one of them")
    }
    if invocation.all(origin).count > 1 {
      throw invocation.usageError(
        "--origin is given more than once",
        remedy: "choose one, and start a second server for the other")
    }
    if invocation[trustForwarded], invocation[origin] == nil {
      throw invocation.usageError(
        "--trust-forwarded is for a reverse proxy",
        remedy: "give --origin as well; a forward proxy passes these fields on unchanged")
    }
    if invocation[origin] != nil, !invocation.all(connectPort).isEmpty || invocation[allowPrivate] {
      throw invocation.usageError(
        "--connect-port and --allow-private are for a forward proxy",
        remedy: "leave out --origin, or these options")
    }
    try checkInterception(invocation)
    if (invocation[certificate] == nil) != (invocation[key] == nil) {
      throw invocation.usageError(
        "--tls-cert and --tls-key go together", remedy: "give both, or neither")
    }
    if invocation[certificate] != nil, invocation[origin] == nil {
      throw invocation.usageError(
        "--tls-cert is for a reverse proxy", remedy: "give --origin as well, or leave it out")
    }
    limitHeaps()
    let signals = try ServeSignals()
    let use: StoreUse = invocation[offline] ? .read : .fill
    try await withStore(invocation, use, lag: .milliseconds(1)) { store in
      try await serve(store, invocation, signals)
    }
    return .success
  }

  private static func checkInterception(_ invocation: Invocation) throws {
    if !invocation[intercept] {
      guard invocation.all(tunnelled).isEmpty else {
        throw invocation.usageError(
          "--tunnel is for --intercept", remedy: "leave it out, or add it")
      }
      return
    }
    if invocation[origin] != nil || invocation[shared] {
      throw invocation.usageError(
        "--intercept is for a forward proxy of one user",
        remedy: "leave out --origin and --shared, or --intercept")
    }
  }

  /// Reads the authority; `nil` without `--intercept`.
  private static func authority(_ invocation: Invocation) throws -> LocalAuthority? {
    guard invocation[intercept] else { return nil }
    let files = try AuthorityFiles()
    guard let authority = try files.read() else {
      throw ToolError(
        subject: files.certificatePath, problem: "there is no authority for --intercept",
        remedy: "make one with 'offlinecache ca create'")
    }
    if authority.to.nanoseconds < secondsFromNow(86_400).nanoseconds {
      printMessage(
        "offlinecache: warning: the authority is valid until \(dateText(authority.to)); "
          + "'offlinecache ca remove' and 'ca create' make another one")
    }
    return authority
  }

  /// Makes glibc use one heap. With a heap for each thread, a third of the memory for a thousand
  /// clients would be lost to fragmentation (Docs/Benchmarks.md). Must be called before other
  /// threads exist.
  private static func limitHeaps() { Allocator.limitHeaps(to: 1) }

  /// Serves until a signal stops the server.
  private static func serve(
    _ store: Store, _ invocation: Invocation, _ signals: ServeSignals
  ) async throws {
    let transport = try transport(invocation)
    var made = try clientOptions(invocation)
    let tier = try RemoteOptions.tier(invocation, transport.setup)
    made.remote = tier
    made.asksRemoteOffline = invocation[offline]
    let client = CachingClient(store: store, transport: transport, options: made)
    await RemoteOptions.readPurges(tier)
    let log = try accessLog(invocation)
    defer { log?.close() }
    let options = try serverOptions(invocation)
    let status = ProxyStatus(
      store: store, facts: facts(options, invocation), remote: { tier?.statistics })
    defer { status.stop() }
    var observers: [any ProxyObserver] = [status]
    if let log { observers.append(log) }
    let server = ProxyServer(
      client: client, options: options, pages: status, observers: observers,
      tunnels: transport)
    let address = try server.start()
    if options.authority != nil, server.isOpenToOthers, !options.allowsPrivate {
      await server.stop(grace: .zero)
      throw ToolError(
        subject: "\(address)",
        problem: "other machines could use --intercept, and read what is stored for this user",
        remedy: "use --listen 127.0.0.1:PORT, or allow it with --allow-private")
    }
    let base = "\(options.scheme.rawValue)://\(address)"
    status.setAddress(base)
    printMessage("offlinecache: serving at \(base)/")
    if server.isOpenToOthers {
      printMessage(
        "offlinecache: warning: other machines can connect to \(address), and see the responses "
          + "and the status pages; use --listen 127.0.0.1:PORT to prevent that")
    }
    for await event in signals.events {
      if event == .stop { break }
      log?.reopen()
      reloadCertificate(of: server, invocation)
    }
    let grace = invocation.value(of: grace)
    printMessage("offlinecache: stopping; a second signal ends it at once")
    let cut = await server.stop(grace: grace)
    if cut > 0 {
      printMessage(
        "offlinecache: \(cut == 1 ? "1 request was" : "\(cut) requests were") cut off; "
          + "--grace gives more time")
    }
    await waitAtMost(grace) { await client.waitForBackground() }
    RemoteNumbers.add(tier, to: store)
  }

  private static func transport(_ invocation: Invocation) throws -> CurlTransport {
    var setup = try NetworkOptions.setup(invocation, proxy)
    // With a limit, a few slow clients could keep all others from the origin. Without HTTP/2, a
    // slow client costs no more than its buffer.
    setup.connectionsPerHost = 0
    setup.usesHTTP2 = false
    setup.resolves = invocation.all(resolve)
    if invocation[proxy] == nil, invocation[origin] != nil { setup.proxy = .none }
    return try CurlTransport(setup)
  }

  private static func clientOptions(_ invocation: Invocation) throws -> ClientOptions {
    var options = ClientOptions(
      rules: CacheRules(
        role: invocation[shared] ? .sharedCache : .privateCache,
        setCookie: invocation.value(of: setCookie)))
    try HistoryOption.apply(invocation, to: &options.rules)
    options.transport.addsDefaultFields = false
    options.hotBytes = Int(clamping: invocation.value(of: memory))
    options.substitutes = try SubstituteOption.read(invocation)
    options.fingerprintKey = try FingerprintOption.read(invocation)
    return options
  }

  /// Reads the certificate again. If it cannot be used, the present one stays.
  private static func reloadCertificate(of server: ProxyServer, _ invocation: Invocation) {
    do {
      guard let certificate = try readCertificate(invocation) else { return }
      try server.replaceCertificate(certificate)
    } catch {
      complain("\(error); the present certificate stays in use")
    }
  }

  private static func readCertificate(_ invocation: Invocation) throws -> ServerCertificate? {
    guard let certificate = invocation[certificate], let key = invocation[key] else { return nil }
    return ServerCertificate(
      certificates: try InputFile.bytes(of: certificate), key: try InputFile.bytes(of: key))
  }

  private static func serverOptions(_ invocation: Invocation) throws -> ProxyOptions {
    var options = ProxyOptions(
      listen: invocation.value(of: listen), origin: invocation[origin],
      hosts: invocation.all(host), trustsForwarded: invocation[trustForwarded],
      isOffline: invocation[offline])
    options.certificate = try readCertificate(invocation)
    options.authority = try authority(invocation)
    options.tunnelledHosts = invocation.all(tunnelled)
    options.connectPorts.formUnion(invocation.all(connectPort))
    options.allowsPrivate = invocation[allowPrivate]
    options.tunnelIdle = max(.seconds(1), invocation.value(of: tunnelIdle))
    return options
  }

  private static func facts(_ options: ProxyOptions, _ invocation: Invocation) -> ProxyFacts {
    ProxyFacts(
      isShared: invocation[shared], origin: options.origin?.string, isOffline: options.isOffline,
      address: "\(options.scheme.rawValue)://\(options.listen)")
  }

  private static func accessLog(_ invocation: Invocation) throws -> AccessLog? {
    let format = invocation.value(of: logFormat)
    guard let argument = invocation[log] else {
      return try AccessLog(.standardOutput, format: format, onFailure: complain)
    }
    guard let path = argument.text else {
      throw invocation.usageError("the path of the log is not UTF-8", remedy: "choose another one")
    }
    if path == "none" { return nil }
    return try AccessLog(
      path == "-" ? .standardOutput : .file(path), format: format, onFailure: complain)
  }

  @Sendable private static func complain(_ words: String) { printMessage("offlinecache: \(words)") }
}

/// Waits for work to end, but at most for a time. After that the work continues alone.
func waitAtMost(_ time: Duration, for work: @escaping @Sendable () async -> Void) async {
  let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
  Task {
    await work()
    continuation.finish()
  }
  Task {
    try? await Task.sleep(for: time)
    continuation.finish()
  }
  for await _ in stream {}
}
