import CacheClient
import CommandLineTools
import CurlHTTP
import HTTPCaching
import HTTPSemantics
import HTTPTransports

enum CheckCommand: ToolCommand {
  private static let urls = Parameter(
    "url", .address, .any, help: "The URLs to check; http or https")
  private static let folder = Option(
    "output-dir", .path.named("DIR"),
    help: "Compare with the files that 'download' has put into a folder, not with the store")
  private static let timeout = Option(
    "timeout", .timeout, default: .seconds(10), defaultText: "10s",
    help: "Give up on a server that does not answer within this time")

  static let declaration = Command(
    "check", summary: "Checks whether servers have newer versions than the store or a folder",
    discussion: [
      "Nothing is fetched and nothing changes. Each URL gets a line on standard output: 'current', "
        + "'changed' (on the server, or the file here), 'unknown' (the server gives no "
        + "information), 'refused' (it answers with an error, which is printed on standard error) "
        + "or 'missing' (there is no copy)."
    ],
    parameters: [urls],
    options: [folder, AddressList.option, timeout, HeaderOption.option, FingerprintOption.option]
      + NetworkOptions.allWithLogin + [NetworkOptions.insecureRedirects],
    examples: [
      .init("offlinecache check https://example.org/", "Compares with the store"),
      .init(
        "offlinecache check https://example.org/big.iso --output-dir isos",
        "Compares with a download"),
    ],
    exitStatuses: [
      (.success, "All are current"),
      (.notFound, "Some are not, or their servers do not say it"),
      (.failure, "A server could not be reached or has failed (3xx, 5xx); takes precedence over 1"),
    ])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    let options = transportOptions(invocation)
    let transport = try CurlTransport(NetworkOptions.setup(invocation))
    let addresses = try AddressList.all(invocation, urls)
    if addresses.isEmpty {
      throw invocation.usageError(
        "there is nothing to check", remedy: "give a URL, or --urls-from FILE")
    }
    let login = try LoginOption.read(invocation, for: addresses)
    guard let folder = invocation[folder] else {
      var clientOptions = ClientOptions(credentials: login?.provider)
      clientOptions.fingerprintKey = try FingerprintOption.read(invocation)
      return try await withStore(invocation, .read) { store in
        let client = CachingClient(store: store, transport: transport, options: clientOptions)
        login?.use(by: client)
        return try await check(addresses) { url in
          try await client.updateState(of: HeaderOption.request(url, invocation), options: options)
        }
      }
    }
    var downloads = DownloaderOptions()
    downloads.conceal = try FingerprintOption.read(invocation).fingerprint
    let downloader = Downloader(
      transport: login.map { transport.loggingIn($0.provider) } ?? transport, options: downloads)
    return try await check(addresses) { url in
      var request = DownloadRequest(
        HeaderOption.request(url, invocation), to: try DownloadCommand.path(of: url, in: folder),
        transport: options)
      request.user = invocation[LoginOption.option]?.user
      return try await downloader.updateState(of: request)
    }
  }

  private static func transportOptions(_ invocation: Invocation) -> TransportOptions {
    let time = invocation.value(of: timeout)
    var options = TransportOptions(connectTimeout: time, idleTimeout: time, wholeTimeout: time)
    options.allowsInsecureRedirects = invocation[NetworkOptions.insecureRedirects]
    return options
  }

  private static func check(
    _ addresses: [String], _ state: @escaping @Sendable (NormalizedURL) async throws -> UpdateState
  ) async throws -> ExitStatus {
    let result = await Interruption.cancelling { try await checkAll(addresses, state) }
    try Interruption.check()
    return try result.get()
  }

  private static func checkAll(
    _ addresses: [String], _ state: (NormalizedURL) async throws -> UpdateState
  ) async throws -> ExitStatus {
    let output = Output.standard()
    var status = ExitStatus.success
    for address in addresses where !Task.isCancelled {
      do {
        let url = try NormalizedURL(address)
        try AddressList.checkCredentials(address, url)
        let state = try await state(url)
        if state != .current, status == .success { status = .notFound }
        if case .refused(let code) = state {
          if !Refusal.isNotFound(code) { status = .failure }
          printMessage("offlinecache: \(terminalSafe(url.string)): \(Refusal.text(code, nil))")
        }
        try output.writeLine("\(word(state))  \(terminalSafe(url.string))")
      } catch let error as OutputError {
        throw error
      } catch {
        if Task.isCancelled { break }
        status = .failure
        printMessage("offlinecache: \(OptionAdvice.text(error))")
      }
    }
    try output.flush()
    return status
  }

  private static func word(_ state: UpdateState) -> String {
    switch state {
    case .current: "current"
    case .changed: "changed"
    case .unknown: "unknown"
    case .refused: "refused"
    case .missing: "missing"
    }
  }
}
