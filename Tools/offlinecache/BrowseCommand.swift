import CommandLineTools
import HTTPSemantics

enum BrowseCommand: ToolCommand {
  private static let words = Parameter(
    "url", .bytes, .any,
    help: "The page to open, https:// if nothing else is said; without it, the list of what is "
      + "stored. After -- come arguments for the browser")
  private static let browser = Option(
    "browser", .text.named("chromium|firefox|PATH"), defaultText: "the first that is installed",
    help: "The browser to open")

  private static let connectPort = Option(
    "connect-port", .port, repeats: true,
    help: "Let the browser use https at this port as well as at 443 and the port of the page")
  private static let log = Option(
    "log", .pathOrDash.named("FILE"), defaultText: "none",
    help: "Add a line for each response to a file; - is standard output")

  static let declaration = Command(
    "browse", summary: "Opens a browser that uses the store, also for https and without a network",
    discussion: [
      "It starts a proxy for this browser alone, as 'serve --intercept' does, and a browser with a "
        + "temporary profile that uses the proxy and trusts your authority ('offlinecache ca "
        + "create' makes one). The user's own profile is not touched. When the browser ends, the "
        + "proxy stops and the profile is removed; Ctrl-C ends both. What was seen stays in the "
        + "store, for --offline.",
      "It needs Chromium or Firefox, and certutil.",
    ],
    parameters: [words],
    options: [
      browser, ServeCommand.offline, ServeCommand.tunnelled, connectPort,
      log, ServeCommand.logFormat, SubstituteOption.option,
    ] + HistoryOption.all + NetworkOptions.all + [ServeCommand.resolve, NetworkOptions.proxy],
    examples: [
      .init("offlinecache browse https://example.org/", "Opens the page, and keeps what it shows"),
      .init("offlinecache browse --offline", "Shows what is stored, without a network"),
      .init(
        "offlinecache browse example.org -- --headless --screenshot=page.png",
        "Gives Chromium two arguments more"),
    ],
    exitStatuses: [(.success, "The browser has ended, or was stopped"), ServeCommand.secondSignal],
    unusedStatuses: [.notFound, .outputClosed])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    var words = invocation[words]
    var url: NormalizedURL?
    if let first = words.first, first.bytes.first != UInt8(ascii: "-") {
      url = try page(words.removeFirst(), invocation)
    }
    if let extra = words.first, extra.bytes.first != UInt8(ascii: "-") {
      throw invocation.usageError(
        "'\(extra)' is one argument too many",
        remedy: "give one page; arguments for the browser come after --, and begin with -")
    }
    let browser = try Browser(invocation[browser], url: url, arguments: words)
    let signals = ServeSignals()
    try await withStore(
      invocation, invocation[ServeCommand.offline] ? .read : .fillUnlessOffline,
      lag: .milliseconds(1)
    ) { store in
      try await ServeCommand.serve(store, invocation, signals, browser: browser)
    }
    try browser.checkStatus()
    return .success
  }

  private static func page(_ argument: Argument, _ invocation: Invocation) throws -> NormalizedURL {
    if let text = argument.text,
      let url = try? NormalizedURL(text.contains("://") ? text : "https://\(text)")
    {
      guard !AddressList.hasCredentials(text.contains("://") ? text : "//\(text)") else {
        throw ToolError(
          subject: url.string, problem: "a URL with a name or password is refused",
          remedy: "leave them out; the browser asks for them")
      }
      return url
    }
    throw invocation.usageError(
      "'\(argument)' is not the URL of a page", remedy: "give one such as https://example.org/")
  }
}
