import CacheClient
import CacheStore
import CacheSystem
import CachingProxy
import CommandLineTools
import CurlHTTP
import HTTPCaching
import HTTPSemantics
import HTTPTransports

enum ServeCommand: ToolCommand {
  static let listen = Option(
    "listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 8080),
    help: "Where to listen; port 0 takes a free one")
  static let origin = Option(
    "origin", .origin,
    help:
      "Be a reverse proxy for this server (http or https, perhaps with a path); without it, be a "
      + "forward proxy for http")
  static let host = Option(
    "host", .hostName, repeats: true,
    help:
      "Also answer under this name, with any port. A server on loopback answers only as localhost, "
      + "127.0.0.1 and [::1], so that no foreign web page can read it under a name of its own; "
      + "beyond loopback it answers under every name unless some are given")
  static let trustForwarded = Flag(
    "trust-forwarded",
    help:
      "Trust the fields Forwarded and X-Forwarded-* of clients: only for a server behind another "
      + "proxy, to which nobody else can connect. Without it they are dropped, and the origin gets "
      + "the address of the client that has connected")
  static let shared = Flag(
    "shared", help: "Cache for many users: responses for one user are not stored")
  static let setCookie = Option(
    "set-cookie", ValueKind<CacheRules.SetCookie>.choice, default: .drop,
    help:
      "With --shared: drop never stores Set-Cookie, and serves a stale answer to a request with "
      + "Cookie or Authorization only if the answer itself allows it; keep follows RFC 9111 to "
      + "the letter")
  private static let isPrivate = Flag("private", help: "Cache for one user; this is the default")
  static let offline = Flag(
    "offline",
    help: "Answer from the store only, however old the responses are; with --remote, look missing "
      + "responses up there")
  static let memory = Option(
    "memory", .size(in: 0...(1 << 40)), default: 32 << 20,
    help: "The memory for bodies that are requested often")
  static let log = Option(
    "log", .pathOrDash.named("FILE"), defaultText: "-",
    help: "Add a line for each response to a file, which SIGHUP reopens; - is standard output, "
      + "none writes no log")
  static let logFormat = Option(
    "log-format", ValueKind<AccessLogFormat>.choice, default: .text,
    help: "Write lines of text, or JSON objects")
  static let grace = Option(
    "grace", .duration, default: .seconds(10),
    help: "The time that responses in progress get to finish when the server stops")
  static let certificate = Option(
    "tls-cert", .path.named("FILE"), group: "TLS for clients",
    help:
      "Be reached by https, with this certificate and those of its authorities (PEM); only with "
      + "--origin. SIGHUP reads both files again")
  static let key = Option(
    "tls-key", .path.named("FILE"), group: "TLS for clients",
    help: "The private key of --tls-cert (PEM, without a passphrase)")
  static let connectPort = Option(
    "connect-port", .port, repeats: true, group: "Tunnels",
    help: "Let CONNECT lead to this port as well as to 443; only in a forward proxy")
  static let allowPrivate = Flag(
    "allow-private", group: "Tunnels",
    help:
      "Let CONNECT lead to this machine and to private networks, even if other machines can use "
      + "this proxy")
  static let tunnelIdle = Option(
    "tunnel-idle", .duration, default: .seconds(600), group: "Tunnels",
    help: "End a tunnel through which no byte has passed for this time")
  static let intercept = Flag(
    "intercept", group: "Tunnels",
    help:
      "Answer https requests of clients through the store, with certificates of the user's own "
      + "authority, which the clients have to trust ('offlinecache ca')")
  static let tunnelled = Option(
    "tunnel", .hostPattern, repeats: true, group: "Tunnels",
    help: "Do not intercept what is exchanged with this host; *.HOST for those below it")
  static let resolve = Option(
    "resolve", .resolve, repeats: true, group: "Network",
    help: "Connect to this address for a host and port, as curl does with the same option")
  static let proxy = Option(
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
    ],
    exitStatuses: [(.success, "Stopped (Ctrl-C, SIGTERM, SIGQUIT)"), secondSignal],
    unusedStatuses: [.notFound, .outputClosed])

  static let secondSignal = (
    ExitStatus.signal(2), "Ended by a second Ctrl-C; 128 and the signal's number for other signals"
  )

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    try invocation.exclude(shared, isPrivate)
    if !invocation.all(setCookie).isEmpty, !invocation[shared] {
      throw invocation.usageError(
        "--set-cookie is for --shared", remedy: "add it, or leave this out")
    }
    if invocation.value(of: tunnelIdle) < .seconds(1) {
      throw invocation.usageError("--tunnel-idle is too short", remedy: "give at least 1s")
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
    let signals = ServeSignals()
    let use: StoreUse = invocation[offline] ? .read : .fillUnlessOffline
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
}
