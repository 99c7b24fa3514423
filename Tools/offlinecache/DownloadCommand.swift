import CacheClient
import CacheSystem
import CommandLineTools
import CurlHTTP
import HTTPSemantics
import HTTPTransports
import MessageDigests

enum DownloadCommand: ToolCommand {
  private static let urls = Parameter(
    "url", .address, .any, help: "The URLs to download; http or https")
  static let folder = Option(
    "output-dir", .path.named("DIR"), default: ".",
    help: "The folder for the files; it is created if it is missing")
  private static let resume = Flag(
    "resume", help: "Also resume every interrupted download in the folder")
  private static let restart = Flag(
    "restart", help: "Begin again, and replace any file that is there, finished or not")
  private static let refresh = Flag(
    "refresh", help: "Ask the server also for files that have not expired")
  private static let expires = Option(
    "expires", .seconds,
    help: "Use the file for this time without asking the server: seconds, or 12h, 7d")
  private static let sliding = Flag(
    "sliding", help: "Restart the time of --expires whenever the file is used")
  private static let sha256 = Option(
    "sha256", .sha256, help: "The digest that the file must have, in hex")
  private static let jobs = Option(
    "jobs", short: "j", .integer(in: 1...256), default: 4,
    help: "The number of downloads at once")
  private static let perHost = Option(
    "per-host", .integer(in: 1...256), default: 4,
    help: "The number of downloads at once from one host")
  private static let retries = Option(
    "retries", .integer(in: 0...1000), default: 5,
    help: "The largest number of retries in a row that receive no byte")
  private static let durable = Flag(
    "durable", help: "Write each file to the disk before it gets its name")
  private static let quiet = Flag("quiet", short: "q", help: "Print errors only")

  static let declaration = Command(
    "download", summary: "Downloads URLs to files, and resumes interrupted downloads",
    discussion: [
      "A file gets its name when it is complete and verified: by its length, by a digest that the "
        + "server states, and by --sha256. After an interruption, the same command continues with "
        + "the bytes that are there, if the server confirms that they still belong to the file; "
        + "hidden files '.offlinecache-...' hold them. The server is asked about a file that "
        + "exists, and the file is not fetched again while it is unchanged. A file that did not "
        + "come from the URL, or was changed since, is an error and stays as it is, unless "
        + "--restart is given.",
      "The name is the last part of the URL's path, or 'index.html' if that is empty. Each URL "
        + "gets a line on standard output: 'done' (fetched), 'valid' (the server has confirmed "
        + "it), 'had' (not expired), 'copy' (of the same URL) or 'remote' (from the second tier), "
        + "the length, the file and the URL.",
    ],
    parameters: [urls],
    options: [
      folder, AddressList.option, resume, restart, refresh, expires, sliding, sha256, jobs,
      perHost, retries, durable, quiet, HeaderOption.option, FingerprintOption.option,
    ] + NetworkOptions.allForTransfers + RemoteOptions.all,
    examples: [
      .init(
        "offlinecache download https://example.org/big.iso --output-dir isos", "Downloads one file"),
      .init(
        "offlinecache download --resume --output-dir isos", "Resumes all interrupted downloads"),
      .init(
        "offlinecache download --urls-from list.txt -j 16 --per-host 16 --expires 7d",
        "Downloads many files, and does not ask the servers again for a week"),
    ], usesGlobalOptions: false)

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    try check(invocation)
    let folder = invocation.value(of: folder)
    try checkOutput(folder)
    // Without URLs the folder must exist: a missing one means that its name is wrong.
    if !invocation[urls].isEmpty || invocation[AddressList.option] != nil {
      try makeFolder(folder)
    }
    let jobs = bounded(invocation.value(of: jobs))
    let perHost = min(invocation.value(of: perHost), jobs)
    var setup = try NetworkOptions.setup(invocation)
    setup.connectionsPerHost = perHost
    let transport = try CurlTransport(setup)
    let addresses = try AddressList.all(invocation, urls)
    let login = try LoginOption.read(invocation, for: addresses)
    let shared = try RemoteOptions.tierBesideOrigins(invocation, setup).map {
      RemoteDownloads(
        $0, over: transport, asksTier: !invocation[restart] && !invocation[refresh])
    }
    await RemoteOptions.readPurges(shared?.tier)
    let direct: any HTTPTransport = shared ?? transport
    var options = DownloaderOptions(
      maximumTransfers: jobs, maximumTransfersPerHost: perHost,
      maximumRetries: invocation.value(of: retries), isDurable: invocation[durable])
    options.conceal = try FingerprintOption.read(invocation).fingerprint
    let downloader = Downloader(
      transport: login.map { direct.loggingIn($0.provider) } ?? direct, options: options
    ) { shared?.offer($0) }
    let (requests, areAllGood) = try await requests(
      invocation, addresses, downloader, folder)
    if requests.isEmpty, areAllGood, !invocation[resume] {
      throw invocation.usageError(
        "there is nothing to download", remedy: "give a URL, --urls-from FILE, or --resume")
    }
    if requests.isEmpty, areAllGood {
      printMessage("offlinecache: nothing was interrupted in '\(folder)'")
    }
    let run = DownloadsRun(downloader, requests, shared, isQuiet: invocation[quiet])
    let status = try await run.all()
    await RemoteOptions.finishOffers(of: shared?.tier)
    return areAllGood ? status : .failure
  }

  /// Returns the number of transfers that the limit of open files allows, at most `wanted`. If the
  /// process runs out of descriptors, nothing works, not even Swift's runtime.
  private static func bounded(_ wanted: Int) -> Int {
    let limit = Int(OpenFiles.raiseLimit())
    let possible = max(1, (limit - 24) / 7)
    guard possible < wanted else { return wanted }
    printMessage(
      "offlinecache: \(possible) downloads at once instead of \(wanted), as this process may have "
        + "\(limit) files open; raise the limit (ulimit -n)")
    return possible
  }

  /// Checks the combinations that the declarations cannot express.
  private static func check(_ invocation: Invocation) throws {
    if invocation[restart], invocation[resume] || invocation[refresh] {
      throw invocation.usageError(
        "--restart excludes --resume and --refresh", remedy: "choose one of them")
    }
    if invocation[sliding], invocation[expires] == nil {
      throw invocation.usageError("--sliding needs --expires", remedy: "say for how long")
    }
  }

  /// Returns the downloads for the URLs of the command line and, with --resume, for interrupted
  /// downloads. `areAllGood` is false if some URLs cannot be downloaded; a message about each has
  /// been printed.
  private static func requests(
    _ invocation: Invocation, _ addresses: [String], _ downloader: Downloader, _ folder: Argument
  ) async throws -> ([DownloadRequest], areAllGood: Bool) {
    if invocation[sha256] != nil, addresses.count != 1 {
      throw invocation.usageError(
        "--sha256 is the digest of one file, but there are \(addresses.count) URLs",
        remedy: "download one at a time")
    }
    // The index of each request, by its path.
    var places: [String: Int] = [:]
    var requests: [DownloadRequest] = []
    var areAllGood = true
    func add(_ url: NormalizedURL, _ path: String) throws -> Int {
      if let place = places[path] {
        let other = requests[place].request.url
        guard other != url else { return place }
        throw invocation.usageError(
          "'\(terminalSafe(url.string))' and '\(terminalSafe(other.string))' have the same file "
            + "'\(terminalSafe(path))'", remedy: "download them to different folders")
      }
      places[path] = requests.count
      requests.append(request(url, path, invocation))
      return requests.count - 1
    }
    for address in addresses {
      do {
        let url = try NormalizedURL(address)
        try AddressList.checkCredentials(address, url)
        _ = try add(url, path(of: url, in: folder))
      } catch let error as UsageError {
        throw error
      } catch {
        printMessage("offlinecache: \(error)")
        areAllGood = false
      }
    }
    guard invocation[resume] else { return (requests, areAllGood) }
    for found in try await downloader.downloads(in: try text(of: folder)) where !found.isFinished {
      let named = places[found.path].map { requests[$0].request.url }
      guard let url = try? NormalizedURL(found.record.url), named ?? url == url else { continue }
      let place = try add(url, found.path)
      // --sha256 belongs to the file that was named on the command line.
      if named == nil { requests[place].digest = nil }
      // The server is asked even if the present file has not expired: the interrupted download was
      // to replace it.
      requests[place].reuse = .confirmed
    }
    return (requests, areAllGood)
  }

  private static func request(
    _ url: NormalizedURL, _ path: String, _ invocation: Invocation
  ) -> DownloadRequest {
    var request = DownloadRequest(
      HeaderOption.request(url, invocation), to: path, replacesOthers: invocation[restart],
      digest: invocation[sha256],
      expiry: invocation[expires].map {
        DownloadExpiry(after: $0.wholeSeconds, isSliding: invocation[sliding])
      },
      reuse: invocation[restart] ? .never : invocation[refresh] ? .confirmed : .unexpired,
      resumes: !invocation[restart],
      transport: NetworkOptions.transportOptions(invocation))
    request.user = invocation[LoginOption.option]?.user
    return request
  }

  static func path(of url: NormalizedURL, in folder: Argument) throws(ToolError) -> String {
    let folder = try text(of: folder)
    let name = OutputPath.fileName(for: url)
    return folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  private static func text(of folder: Argument) throws(ToolError) -> String {
    guard let text = folder.text else {
      throw ToolError(
        subject: folder.description, problem: "the name of the folder is not UTF-8",
        remedy: "go there and leave --output-dir out")
    }
    return text
  }

  private static func makeFolder(_ folder: Argument) throws {
    try OutputFolder.makeFolders(folder.bytes)
    let text = try text(of: folder)
    do throws(SystemError) {
      _ = try RealFileSystem().open(userPath: text, [.read, .directory])
    } catch {
      guard error.isWrongKind else { return }
      throw ToolError(
        subject: text, problem: "it is a file, and --output-dir names a folder",
        remedy: "leave the name of the file out")
    }
  }
}

extension ValueKind where Value == StatedDigest {
  static var sha256: ValueKind {
    ValueKind("HEX", expected: "64 hex digits, as sha256sum prints them") {
      try? StatedDigest(.sha256, hex: $0)
    }
  }
}
