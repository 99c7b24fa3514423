import CacheClient
import CacheStore
import CacheSystem
import CachingProxy
import CommandLineTools
import CurlHTTP
import HTTPCaching
import HTTPSemantics
import HTTPTransports

// The work of `serve`, and of `browse`, which serves one browser.
extension ServeCommand {
  private static func authority() throws -> LocalAuthority {
    let authority = try AuthorityFiles().require()
    if authority.to.nanoseconds < secondsFromNow(86_400).nanoseconds {
      printMessage(
        "offlinecache: warning: the authority is valid until \(dateText(authority.to)); "
          + "'offlinecache ca remove' and 'ca create' make another one")
    }
    return authority
  }

  /// Serves until a signal stops the server, or the browser ends.
  ///
  /// - Parameter browser: The browser that is opened once the server listens; `nil` for `serve`.
  static func serve(
    _ store: Store, _ invocation: Invocation, _ signals: ServeSignals, browser: Browser? = nil
  ) async throws {
    let transport = try transport(invocation)
    var made = try clientOptions(invocation)
    let tier = try RemoteOptions.tierBesideOrigins(invocation, transport.setup)
    made.remote = tier
    made.asksRemoteOffline = invocation[offline]
    let client = CachingClient(store: store, transport: transport, options: made)
    await RemoteOptions.readPurges(tier)
    let log = browser != nil && invocation[log] == nil ? nil : try accessLog(invocation)
    defer { log?.close() }
    let options = try serverOptions(invocation, browser)
    let status = ProxyStatus(
      store: store, facts: facts(options, invocation), remote: { tier?.statistics },
      forget: { prefix throws(StoreError) in try client.remove(prefix: prefix) })
    defer { status.stop() }
    var observers: [any ProxyObserver] = [status]
    if let log { observers.append(log) }
    observers.append(StoringNotice())
    if options.authority != nil { observers.append(TunnelNotice()) }
    let server = ProxyServer(
      client: client, options: options, pages: status, observers: observers,
      tunnels: transport)
    let address = try server.start()
    let base = "\(options.scheme.rawValue)://\(address)"
    // The pages of a reverse proxy have the origin of the site that it serves, so its scripts could
    // change something; and a server in front makes it open to others.
    status.setAddress(base, isOpenToOthers: server.isOpenToOthers || options.origin != nil)
    printMessage("offlinecache: serving at \(base)/")
    if server.isOpenToOthers {
      printMessage(
        "offlinecache: warning: other machines can connect to \(address), and see the responses "
          + "and the status pages; use --listen 127.0.0.1:PORT to prevent that")
    }
    warnOfFewFiles()
    defer { browser?.end() }
    try browser?.open(proxy: address, signals)
    for await event in signals.events {
      if event == .stop { break }
      log?.reopen()
      reloadCertificate(of: server, invocation)
    }
    browser?.end()
    let grace = invocation.value(of: grace)
    if browser == nil { printMessage("offlinecache: stopping; a second signal ends it at once") }
    let cut = await server.stop(grace: grace)
    if cut > 0 {
      printMessage(
        "offlinecache: \(cut == 1 ? "1 request was" : "\(cut) requests were") cut off; "
          + "--grace gives more time")
    }
    await waitAtMost(grace) { await client.waitForBackground() }
    RemoteNumbers.add(tier, to: store)
  }

  private static func warnOfFewFiles() {
    let files = OpenFiles.raiseLimit()
    guard files < 1024 else { return }
    printMessage(
      "offlinecache: warning: this process may have \(files) files open, enough for "
        + "\(ProxyServer.connectionLimit(files: files)) connections; allow 1024 or more (ulimit -n)"
    )
  }

  private static func transport(_ invocation: Invocation) throws -> CurlTransport {
    var setup = try NetworkOptions.setup(invocation, proxy)
    // With a limit, a few slow clients could keep all others from the origin. Without HTTP/2, a
    // slow client costs no more than its buffer.
    setup.connectionsPerHost = 0
    setup.connections = ProxyServer.connectionLimit(files: OpenFiles.raiseLimit())
    if !invocation.all(RemoteOptions.url).isEmpty {
      setup.connections = RemoteOptions.originShare(of: setup.connections)
    }
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
    if invocation[shared], invocation[origin] != nil {
      options.rules.targetedFields = CacheRules.fieldsForCDNs
    }
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

  private static func serverOptions(
    _ invocation: Invocation, _ browser: Browser?
  ) throws -> ProxyOptions {
    var options = ProxyOptions(listen: invocation.value(of: listen))
    options.origin = invocation[origin]
    options.hosts = invocation.all(host)
    options.trustsForwarded = invocation[trustForwarded]
    options.isOffline = invocation[offline]
    options.certificate = try readCertificate(invocation)
    if invocation[intercept] || browser != nil { options.authority = try authority() }
    options.tunnelledHosts = invocation.all(tunnelled)
    options.connectPorts.formUnion(invocation.all(connectPort))
    options.allowsPrivate = invocation[allowPrivate]
    if let browser {
      options.listen = ListenAddress(host: "127.0.0.1", port: 0)
      if let port = browser.port { options.connectPorts.insert(port) }
    }
    options.tunnelIdle = invocation.value(of: tunnelIdle)
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
    if path != "-" { try checkOutput(argument) }
    return try AccessLog(
      path == "-" ? .standardOutput : .file(path), format: format, onFailure: complain)
  }

  @Sendable private static func complain(_ words: String) { printMessage("offlinecache: \(words)") }
}

/// Prints that answers cannot be stored: once for each cause, until they can be stored again.
private final class StoringNotice: ProxyObserver {
  private let last = Lock<StoreError?>(nil)

  func answered(_ record: AnswerRecord) {
    let failure = record.storingFailure
    guard failure != nil || record.cacheStatus?.isStored == true else { return }
    let isNew = last.withLock { last in
      defer { last = failure }
      return last?.code != failure?.code
    }
    guard isNew else { return }
    let words =
      failure.map { "answers are not stored: \($0)" } ?? "answers are stored again"
    // The threads of the server must not wait for a terminal.
    Task.detached { printMessage("offlinecache: \(words)") }
  }
}

/// Prints that connections are tunnelled because a client does not trust the authority, or its time has
/// ended.
private struct TunnelNotice: ProxyObserver {
  func answered(_ record: AnswerRecord) {}

  func leftAlone(_ host: String) {
    // The threads of the server must not wait for a terminal.
    Task.detached {
      printMessage(
        "offlinecache: \(terminalSafe(host)) is tunnelled for an hour, and not stored: a client has "
          + "not accepted our certificate; make it trust the authority ('offlinecache ca trust'), "
          + "and start the proxy again")
    }
  }

  func authorityEnded() {
    Task.detached {
      printMessage(
        "offlinecache: the authority is not valid now: https is tunnelled, and not stored; check the "
          + "clock; if it is right, undo what trusts the authority ('offlinecache ca trust --undo'), "
          + "replace it with 'offlinecache ca remove' and 'ca create', and start the proxy again")
    }
  }
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
