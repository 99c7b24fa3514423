public import CacheClient
import CacheSystem
public import Foundation
import HTTPCaching
import HTTPSemantics
import HTTPTransports

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Says how a file is downloaded, beside the request.
public struct DownloadSettings: Sendable {
  /// Uses the file for so long after its end without asking the server, and one that came before no
  /// longer than that and than was said then; nil: as was said then, else the server is asked.
  public var expiresAfter: TimeInterval?

  /// Begins that time anew with each use.
  public var isSliding = false

  /// Says which digest the file must have.
  public var digest: StatedDigest?

  /// Orders those that wait for their turn: higher ones first.
  public var priority = 0

  /// Makes settings; the defaults ask the server, unless an earlier call has said for how long not.
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
  /// The longest downloaded file that is stored, too, in bytes: 16 MiB. Longer ones are not kept twice.
  public static let storedDownloadLimit = 16 << 20

  /// Answers a request into a file, with bounded memory, and goes on where an earlier call was
  /// interrupted; see ``data(for:)``.
  ///
  /// A file that came before is used until it expires (``DownloadSettings/expiresAfter``); then the
  /// server is asked. Where there is no such file, what is stored is written out, by the policy of the
  /// request and the expiry, else by the rules of HTTP. All else is downloaded: the
  /// bytes go to a hidden file beside it, which takes the name in one rename when it is complete and
  /// verified; a failure or a cancellation leaves what was there before. A file that has expired is used
  /// if the server confirms it. What may be stored is stored, too, up to ``storedDownloadLimit``.
  ///
  /// - Throws: as ``data(for:)``; `badServerResponse` for a status that has no content, as an error page
  ///   must not replace a file; `cannotCreateFile`, `cannotWriteToFile` and `cannotMoveFile` with the
  ///   path and `SystemError` underneath; `fileIsDirectory`; `cannotDecodeRawData` for a wrong digest.
  @discardableResult
  public func download(
    for request: URLRequest, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) async throws(URLError) -> OfflineURLResponse {
    var asked = try AskedRequest(request, mode: offlineMode)
    let place = try FilePlace(file)
    let wanted = wanted(asked, place, settings)
    var hasExpired = false
    if wanted.reuse == .unexpired, asked.isPlainGet {
      switch try? await downloader.look(for: wanted) {
      case .unexpired(let there): return try response(there, asked, place)
      case .expired: hasExpired = asked.options.policy == .protocolRules
      case .unknown(let stated):
        asked.options.lifetime = [wanted.expiry, stated].compactMap { $0?.seconds }.min()
      case nil: break
      }
    }
    // What is stored says nothing about a file that has expired: its server does.
    let mayUseStored = !hasExpired && settings.digest == nil && isStored(asked)
    if asked.options.policy.allowsNetwork, asked.isPlainGet, !mayUseStored {
      do throws(DownloadError) {
        return try await downloaded(wanted, asked, place)
      } catch {
        guard offlineMode == .whenUnreachable, error.isUnreachable, asked.acceptsFallback,
          let there = try? await downloader.fileNow(wanted)
        else { throw URLError(error, url: asked.url) }
        return try response(there, asked, place)
      }
    }
    do throws(URLError) {
      return try await written(wanted, asked, place)
    } catch {
      // Without a network a file that is there is better than none.
      guard error.isNotStored, let there = try? await downloader.fileNow(wanted) else {
        throw error
      }
      return try response(there, asked, place)
    }
  }

  /// Fetches a URL with `GET` into a file; see ``download(for:to:settings:)``.
  @discardableResult
  public func download(
    from url: URL, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) async throws(URLError) -> OfflineURLResponse {
    try await download(for: URLRequest(url: url), to: file, settings: settings)
  }

  /// Starts a download that tells its progress, and can be paused; around the store.
  ///
  /// - Throws: `unsupportedURL`, `badURL` and `fileIsDirectory` at once, and as ``data(for:)`` where
  ///   mode or policy forbid the network; all else is thrown by the download.
  public func startDownload(
    for request: URLRequest, to file: URL, settings: DownloadSettings = DownloadSettings()
  ) throws(URLError) -> OfflineDownload {
    let asked = try networkRequest(request)
    let place = try FilePlace(file)
    let download = downloader.start(wanted(asked, place, settings))
    return OfflineDownload(download, of: asked.url, to: file) { [self] file throws(URLError) in
      try response(file, asked, place)
    }
  }

  /// Finds the downloads of a folder that an earlier run began and did not finish.
  ///
  /// To go on with one, download it again, from its URL to its file. To give it up, call
  /// ``forgetDownload(to:)``.
  ///
  /// - Throws: `URLError` where the folder cannot be read.
  public func unfinishedDownloads(in folder: URL) async throws(URLError) -> [UnfinishedDownload] {
    do throws(DownloadError) {
      return try await downloader.downloads(in: folder.path).compactMap { UnfinishedDownload($0) }
    } catch {
      throw URLError(error, url: nil)
    }
  }

  /// Removes what an interrupted download has left, and what is known of a finished one; its file stays.
  public func forgetDownload(to file: URL) async throws(URLError) {
    let place = try FilePlace(file)
    do throws(DownloadError) {
      try await downloader.forget(place.path)
    } catch {
      throw URLError(error, url: nil)
    }
  }

  /// Translates a request that goes to the network or nowhere.
  func networkRequest(_ request: URLRequest) throws(URLError) -> AskedRequest {
    let mode = offlineMode
    let asked = try AskedRequest(request, mode: mode)
    guard asked.options.policy.allowsNetwork else {
      throw URLError(
        mode == .always ? .notConnectedToInternet : .resourceUnavailable, url: asked.url,
        cause: "\(asked.request.url): this asks the server, and the "
          + (mode == .always ? "offline mode" : "policy of the request")
          + " forbids that; change it, or do without", underlying: nil)
    }
    return asked
  }

  private func wanted(
    _ asked: AskedRequest, _ place: FilePlace, _ settings: DownloadSettings
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
    wanted.maximumRedirects = asked.options.maximumRedirects
    switch asked.options.policy {
    case .reload, .reloadFromOrigin: wanted.reuse = .never
    case .revalidate: wanted.reuse = .confirmed
    default: wanted.reuse = .unexpired
    }
    return wanted
  }

  /// Tells whether there is something stored that the policy might use.
  private func isStored(_ asked: AskedRequest) -> Bool {
    guard asked.acceptsFallback else { return false }
    var options = asked.options
    options.policy = .offline
    return client.storedAnswer(to: asked.request, options: options) != nil
  }

  private func downloaded(
    _ wanted: DownloadRequest, _ asked: AskedRequest, _ place: FilePlace
  ) async throws(DownloadError) -> OfflineURLResponse {
    let login = client.loginState
    let file = try await downloader.download(wanted)
    // What came while somebody logged in or out is nobody's for certain.
    if file.source == .network, client.loginState == login, let length = file.record.length,
      length <= UInt64(Self.storedDownloadLimit)
    {
      // As a favour: the file is there whatever becomes of this.
      _ = try? await client.store(
        contentsOf: file, for: asked.request, options: asked.options)
    }
    guard let response = OfflineURLResponse.make(file, to: asked, now: options.clock.now()) else {
      throw DownloadError(
        .status(file.record.head.status), url: file.record.url, path: place.path)
    }
    return response
  }

  private func response(
    _ file: DownloadedFile, _ asked: AskedRequest, _ place: FilePlace
  ) throws(URLError) -> OfflineURLResponse {
    guard let response = OfflineURLResponse.make(file, to: asked, now: options.clock.now()) else {
      throw URLError(.badServerResponse, url: asked.url, cause: place.path, underlying: nil)
    }
    return response
  }
}
