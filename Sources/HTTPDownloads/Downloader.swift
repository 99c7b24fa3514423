import CacheFormat
public import CacheSystem
import HTTPSemantics
public import HTTPTransports

@_exported public import struct CacheSystem.SystemClock
@_exported public import protocol CacheSystem.WallClock

/// How many downloads run at once, and how often they are retried.
public struct DownloaderOptions: Sendable {
  /// The limit of simultaneous transfers, at least 1. Each takes up to seven descriptors.
  public var maximumTransfers: Int

  /// The limit of simultaneous transfers from one host, at least 1.
  public var maximumTransfersPerHost: Int

  /// The limit of retries in a row that bring no byte.
  public var maximumRetries: Int

  /// The delay before the first retry. It is doubled with each further one, up to 30 seconds.
  public var retryDelay: Duration

  /// Whether a file is synced before it takes its name, so that it survives a loss of power from
  /// then on. Without it, a file that took its name just before may be short. The library detects
  /// that, but a program that opens the file may not.
  public var isDurable: Bool

  /// Returns bytes that stand for a secret value in the records of files; equal ones for equal values.
  /// With the default, a file that was downloaded with credentials is used by other processes only
  /// after the server has confirmed it.
  package var conceal: @Sendable ([UInt8]) -> [UInt8] = concealInProcess

  /// Whether the user of a file is the one that the transport has logged in; otherwise it is that of the
  /// request.
  package var recordsLogins = false

  /// Creates options.
  public init(
    maximumTransfers: Int = 8, maximumTransfersPerHost: Int = 4, maximumRetries: Int = 5,
    retryDelay: Duration = .milliseconds(500), isDurable: Bool = false
  ) {
    self.maximumTransfers = maximumTransfers
    self.maximumTransfersPerHost = maximumTransfersPerHost
    self.maximumRetries = maximumRetries
    self.retryDelay = retryDelay
    self.isDurable = isDurable
  }
}

/// Downloads to files, and resumes interrupted downloads, also those of an earlier process.
///
/// Downloads bypass the store. Many run at once, within limits; two simultaneous downloads of one
/// URL are one transfer. Safe to use from many tasks and processes at once.
public final class Downloader: Sendable {
  /// The options.
  public let options: DownloaderOptions

  let transport: any HTTPTransport
  let clock: any WallClock
  let files: any FileSystem
  let slots: DownloadSlots
  /// The limit of downloads with open files, three each: transfers, and those that wait for a
  /// retry. It is twice as high, so that a host that does not answer delays no other.
  let places: DownloadSlots
  let retries: RetryPolicy
  let pool = WorkerPool(threads: 4)
  private let running = Lock<[NormalizedURL: [Download]]>([:], .registry)
  private let onFinished: @Sendable (DownloadedFile) -> Void

  /// Creates a downloader on a transport, which may be shared.
  public convenience init(
    transport: any HTTPTransport, options: DownloaderOptions = DownloaderOptions(),
    clock: any WallClock = SystemClock()
  ) {
    self.init(transport, options, clock, RealFileSystem())
  }

  /// Creates a downloader that reports each file as soon as it is in place.
  package convenience init(
    transport: any HTTPTransport, options: DownloaderOptions, clock: any WallClock = SystemClock(),
    onFinished: @escaping @Sendable (DownloadedFile) -> Void
  ) {
    self.init(transport, options, clock, RealFileSystem(), onFinished: onFinished)
  }

  init(
    _ transport: any HTTPTransport, _ options: DownloaderOptions, _ clock: any WallClock,
    _ files: any FileSystem, onFinished: @escaping @Sendable (DownloadedFile) -> Void = { _ in }
  ) {
    self.onFinished = onFinished
    self.transport = transport
    self.files = files
    self.options = options
    self.clock = clock
    slots = DownloadSlots(
      limit: options.maximumTransfers, perHost: options.maximumTransfersPerHost)
    places = DownloadSlots(
      limit: 2 * max(1, options.maximumTransfers),
      perHost: 2 * max(1, options.maximumTransfersPerHost))
    retries = RetryPolicy(
      maximumRetries: max(0, options.maximumRetries), delay: options.retryDelay,
      maximumDelay: .seconds(30))
  }

  /// Starts a download, or joins a running one with the same request, which is resumed if it was
  /// paused. A file at the path is replaced once the new one is complete; see ``DownloadRequest/file``.
  public func start(_ request: DownloadRequest) -> Download {
    let (download, source, isNew) = running.withLock {
      running -> (Download, Download?, Bool) in
      let url = request.request.url
      let same = running[url, default: []].filter { $0.request.asks(for: request) }
      let twin = same.first { $0.request.isAnswered(as: request) && $0.join() }
      if let twin { return (twin, nil, false) }
      let download = Download(request)
      running[url, default: []].append(download)
      let source = same.first { $0.request.file != request.file }
      return (download, request.reuse == .never ? nil : source, true)
    }
    guard isNew else {
      download.resume()
      return download
    }
    Task {
      let outcome: Result<DownloadedFile, DownloadError>
      do throws(DownloadError) {
        let file = try await DownloadRun(downloader: self, download: download).run(copying: source)
        onFinished(file)
        outcome = .success(file)
      } catch {
        outcome = .failure(error)
      }
      running.withLock { running in
        let url = request.request.url
        running[url]?.removeAll { $0 === download }
        if running[url]?.isEmpty == true { running[url] = nil }
      }
      download.settle(outcome)
    }
    return download
  }

  /// Downloads a file as ``start(_:)`` does and waits for it. If the task is cancelled, the download
  /// ends and keeps its bytes, unless other callers wait for it.
  ///
  /// - Throws: ``DownloadError``.
  public func download(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile {
    let download = start(request)
    // A task that is not cancelled with the caller's, so that the part of an ended download is closed
    // before this returns.
    let ending = Task { () -> Result<DownloadedFile, DownloadError> in
      do throws(DownloadError) {
        return .success(try await download.value())
      } catch {
        return .failure(error)
      }
    }
    let result = await withTaskCancellationHandler {
      await ending.value
    } onCancel: {
      if !download.leave() { ending.cancel() }
    }
    return try result.get()
  }

  /// Returns the file of a request if it is there and unchanged, whatever its age, without a
  /// request to the server; otherwise returns `nil`.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  public func fileNow(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile? {
    try await DownloadRun(downloader: self, download: Download(request)).fileNow()
  }

  /// Cancels all downloads in progress, for all their callers, and waits until their files are closed.
  package func endAll() async {
    let all = running.withLock { Array($0.values.joined()) }
    for download in all { _ = download.leave(all: true) }
    for download in all { await download.end() }
  }

  func downloads(to file: String) -> [Download] {
    running.withLock { $0.values.joined().filter { $0.request.file == file } }
  }

  var now: Timestamp { Timestamp(nanoseconds: clock.now()) }
}
