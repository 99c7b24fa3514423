import CacheSystem

/// The settings of a download, besides the request.
public struct DownloadSettings: Sendable {
  /// The seconds for which the file is used without asking the server, counted from the end of the
  /// download. A file from an earlier call is used no longer than this and than the time set then.
  /// `nil` means the time set by an earlier call; without that, the rules of HTTP say whether the
  /// server is asked.
  public var expiresAfter: TimeInterval?

  /// Whether each use of the file restarts that time.
  public var isSliding = false

  /// The digest that the file must have.
  public var digest: StatedDigest?

  /// The order of waiting downloads: higher priorities first.
  public var priority = 0

  /// Creates settings. With the defaults the rules of HTTP say whether the server is asked, unless an
  /// earlier call has set a time that has not expired.
  public init(
    expiresAfter: TimeInterval? = nil, isSliding: Bool = false, digest: StatedDigest? = nil,
    priority: Int = 0
  ) {
    self.expiresAfter = expiresAfter
    self.isSliding = isSliding
    self.digest = digest
    self.priority = priority
  }
}

extension OfflineCache {
  /// The length of the longest downloaded file that is also stored, in bytes: 16 MiB. Longer files
  /// are not kept twice.
  public static let storedDownloadLimit = 16 << 20

  /// Answers a `GET` request into a file, with bounded memory, and resumes an interrupted download of
  /// an earlier call; see ``data(for:)``. The request's `Range` and conditions are ignored.
  ///
  /// Any file that is there is replaced, once the new content is complete and verified; a failure or a
  /// cancellation leaves it unchanged.
  ///
  /// A file from an earlier call is used until it expires (``DownloadSettings/expiresAfter``). After
  /// that, a stored response is used as the policy of the request and the expiry allow, or else the
  /// rules of HTTP: it is written to the file, unless the file is as new. Otherwise the server is
  /// asked, and the file is used if the server confirms it. If not, the content is downloaded to a
  /// hidden file beside it, which gets the name in one rename. Without a network, the newer of file and
  /// stored response is used. A response that may be stored is also stored, up to
  /// ``storedDownloadLimit``.
  ///
  /// - Throws: The errors of ``data(for:)``; `badServerResponse` for a status other than 200 and
  ///   203, as an error page must not replace a file; `cannotCreateFile`, `cannotWriteToFile` and
  ///   `cannotMoveFile` with the path and `SystemError` underneath; `fileIsDirectory`;
  ///   `cannotDecodeRawData` for a wrong digest.
  @discardableResult
  public func download(
    for request: URLRequest, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) async throws(URLError) -> OfflineURLResponse {
    var asked = try AskedRequest(request, mode: offlineMode).forFile()
    if Task.isCancelled {
      throw failure(cancelled(asked), asked)
    }
    asked.options.logOuts = client.logOutCount
    let place = try FilePlace(file)
    let wanted = wanted(asked, place, settings)
    var hasFile = false
    if wanted.reuse == .unexpired, asked.body == nil {
      var last: DownloadExpiry?
      switch try? await downloader.look(for: wanted) {
      case .unexpired(let there): return try response(there, asked, place)
      case .expired(let stated): (hasFile, last) = (true, stated)
      case .unknown(let stated): last = stated
      case nil: break
      }
      asked.options.lifetime = [wanted.expiry, last].compactMap { $0?.seconds }.min()
    }
    // What has to be validated is asked for with the validators of the file, if there is one.
    let mayUseStored = hasFile ? answersNow(asked) : stored(asked, .offline) != nil
    let mayDownload = asked.options.policy.allowsNetwork && asked.body == nil
    if mayDownload, !mayUseStored { return try await downloadedElseKnown(wanted, asked, place) }
    do throws(URLError) {
      return try await written(wanted, asked, place)
    } catch {
      switch (error.downloadCause, error.clientCause) {
      // What is stored, or a substitute, is not what the caller wants, or cannot be read to its end.
      case (.wrongDigest?, _) where mayDownload, (_, .store?) where mayDownload:
        return try await downloadedElseKnown(wanted, asked, place)
      case (_, .notStored?):
        // Without a network an existing file is better than none.
        guard let there = try? await downloader.fileNow(wanted) else { throw error }
        return try response(there, asked, place)
      default: throw error
      }
    }
  }

  /// Fetches a URL with `GET` into a file; see ``download(for:to:settings:)``.
  @discardableResult
  public func download(
    from url: URL, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) async throws(URLError) -> OfflineURLResponse {
    try await download(for: URLRequest(url: url), to: file, settings: settings)
  }

  /// Starts a download that reports its progress and can be paused. It does not use the store. An equal
  /// download in progress is joined, and resumed if it was paused. Any file that is there is replaced,
  /// once the new content is complete and verified.
  ///
  /// - Throws: `unsupportedURL`, `badURL`, and `fileIsDirectory` and `cannotCreateFile` for a name
  ///   that no file can have, at once, and the errors of ``data(for:)`` if mode or policy forbid the
  ///   network. All other errors are thrown by the download.
  public func startDownload(
    for request: URLRequest, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) throws(URLError) -> OfflineDownload {
    let asked = try networkRequest(request).forFile()
    guard asked.body == nil else {
      throw URLError(
        .unsupportedURL, url: asked.url,
        cause: "\(asked.request.url): a download that was started sends no body; use "
          + "OfflineCache.download(for:to:)")
    }
    let place = try FilePlace(file)
    let download = downloader.start(wanted(asked, place, settings))
    return OfflineDownload(download, of: asked.url, to: file) { [self] file throws(URLError) in
      try response(file, asked, place)
    }
  }

  /// Returns the downloads in a folder that an earlier run began and did not finish.
  ///
  /// To resume one, download it again, from its URL to its file. To discard it, call
  /// ``forgetDownload(to:)``.
  ///
  /// A folder that does not exist has none.
  ///
  /// - Throws: `URLError` if the folder cannot be read.
  public func unfinishedDownloads(in folder: URL) async throws(URLError) -> [UnfinishedDownload] {
    let found = try await inFolder(folder) { path throws(DownloadError) in
      try await downloader.downloads(in: path)
    }
    return (found ?? []).compactMap { UnfinishedDownload($0) }
  }

  /// Does something with the downloads of a folder; returns `nil` if it does not exist, and so has none.
  @discardableResult
  func inFolder<Found: Sendable>(
    _ folder: URL, _ work: (String) async throws(DownloadError) -> Found
  ) async throws(URLError) -> Found? {
    let path = try FilePlace.path(of: folder)
    do throws(DownloadError) {
      return try await work(path)
    } catch {
      if error.cause == .file(.notFound) { return nil }
      throw URLError(error, url: nil)
    }
  }

  /// Removes the partial file of an interrupted download, and the record of a finished one. The
  /// finished file stays. A download in progress is cancelled first, for all its callers.
  ///
  /// - Throws: `URLError` if the folder cannot be used, or another process is downloading the file.
  public func forgetDownload(to file: URL) async throws(URLError) {
    let place = try FilePlace(file)
    do throws(DownloadError) {
      try await downloader.forget(place.path)
    } catch {
      throw URLError(error, url: nil)
    }
  }

  func networkRequest(_ request: URLRequest) throws(URLError) -> AskedRequest {
    let mode = offlineMode
    let asked = try AskedRequest(request, mode: mode)
    guard asked.options.policy.allowsNetwork else {
      throw URLError(
        mode == .always ? .notConnectedToInternet : .resourceUnavailable, url: asked.url,
        cause: "\(asked.request.url): this call asks the server, but the "
          + (mode == .always ? "offline mode" : "policy of the request")
          + " does not allow that; change it",
        underlying: ClientError(
          .notStored(.policy(asked.options.policy)), url: asked.request.url.string))
    }
    return asked
  }

  func wanted(
    _ asked: AskedRequest, _ place: FilePlace, _ settings: DownloadSettings = DownloadSettings()
  ) -> DownloadRequest {
    var wanted = DownloadRequest(asked.request, to: place.path)
    wanted.digest = settings.digest
    wanted.priority = settings.priority
    wanted.expiry = settings.expiresAfter.map {
      DownloadExpiry(after: AskedRequest.lifetime($0), isSliding: settings.isSliding)
    }
    wanted.transport = asked.options.transport ?? AskedRequest.defaultTimeouts
    wanted.transport.allowsInsecureRedirects = options.allowsInsecureRedirects
    wanted.credential = asked.options.credential
    wanted.user = client.user(of: asked.request, asked.options.credential)
    wanted.loginState = client.loginState
    wanted.maximumRedirects = asked.options.maximumRedirects
    switch asked.options.policy {
    case .reload, .reloadFromOrigin: wanted.reuse = .never
    case .revalidate: wanted.reuse = .confirmed
    default: wanted.reuse = .unexpired
    }
    return wanted
  }

  /// Downloads a file. If there is no network, or the server cannot be reached, returns the newer one
  /// of the stored response and the existing file.
  private func downloadedElseKnown(
    _ wanted: DownloadRequest, _ asked: AskedRequest, _ place: FilePlace
  ) async throws(URLError) -> OfflineURLResponse {
    try checkUser(asked)
    // A stored response that could be used now would have been.
    if asked.acceptsFallback, let network = poorNetwork(asked), network.quality == .none,
      let there = try? await downloader.fileNow(wanted)
    {
      return try response(there, asked, place, standIn: .noNetwork(network.reason))
    }
    let permit = client.permitToStore(asked.request)
    let began = Timestamp(nanoseconds: options.clock.now())
    let file: DownloadedFile
    do throws(DownloadError) {
      file = try await downloader.download(wanted)
    } catch {
      let failed = URLError(error, url: asked.url)
      let cause: ClientError.Cause
      switch error.cause {
      case .transport(let error): cause = .transport(error)
      case .coding(let error): cause = .coding(error)
      default: throw failed
      }
      let failure = ClientError(cause, url: error.url)
      guard offlineMode == .whenUnreachable, asked.acceptsFallback, let standIn = StandIn(failure)
      else { throw failed }
      if let written = try? await written(wanted, asked, place, after: failure) { return written }
      if Task.isCancelled { throw self.failure(cancelled(asked), asked) }
      guard let there = try? await downloader.fileNow(wanted) else { throw failed }
      return try response(there, asked, place, standIn: standIn)
    }
    try await checkUser(asked, of: [.network, .copy].contains(file.source) ? file : nil)
    // A response received during a log-in or log-out cannot be assigned to a user for certain. The
    // permit says nothing about an answer that came before it.
    if file.source == .network, client.loginState == wanted.loginState,
      file.record.started >= began,
      let length = file.record.length, length <= UInt64(Self.storedDownloadLimit)
    {
      // Errors are ignored: the file exists even if it is not stored.
      _ = try? await client.store(
        contentsOf: file, for: asked.request, options: asked.options, permit: permit)
      // The file had its name before that log-out, which has removed it if it was to.
      try checkUser(asked)
    }
    return try response(file, asked, place)
  }

  /// Makes the response for a file.
  ///
  /// - Parameter standIn: The reason for using the file in place of the network; `nil` if that is not
  ///   so.
  func response(
    _ file: DownloadedFile, _ asked: AskedRequest, _ place: FilePlace, standIn: StandIn? = nil
  ) throws(URLError) -> OfflineURLResponse {
    let now = options.clock.now()
    guard let response = OfflineURLResponse.make(file, to: asked, now: now, standIn: standIn) else {
      throw refusal(file.record.head.status, by: file.record.answeredBy, asked, place)
    }
    return response
  }

  func refusal(
    _ status: Int, by url: String, _ asked: AskedRequest, _ place: FilePlace
  ) -> URLError {
    URLError(DownloadError(.status(status), url: url, path: place.path), url: asked.url)
  }
}
