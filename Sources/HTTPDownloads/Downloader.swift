import CacheFormat
public import CacheSystem
import HTTPSemantics
public import HTTPTransport

/// Says how many downloads run at once, and how often they are tried.
public struct DownloaderOptions: Sendable {
  /// Bounds the transfers that run at the same time, at least 1. Each takes up to seven descriptors.
  public var maximumTransfers: Int

  /// Bounds those from one host, at least 1.
  public var maximumTransfersPerHost: Int

  /// Bounds the tries in a row that bring no byte, beside the first.
  public var maximumRetries: Int

  /// Is waited before the first retry, and doubled with each, up to 30 seconds.
  public var retryDelay: Duration

  /// Waits for the disk before a file takes its name, so that it survives loss of power from then on.
  /// Without it a file that took its name just before may then be short; the library sees that, the
  /// program need not.
  public var isDurable: Bool

  /// Makes options.
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

/// Downloads to files, and goes on with what was interrupted, also by the end of the process.
///
/// Goes around the store. Many at once, with limits; the same URL asked for twice at the same time is
/// one transfer. Safe to use from many tasks and processes at once.
public final class Downloader: Sendable {
  /// Says how it works.
  public let options: DownloaderOptions

  let transport: any HTTPTransport
  let clock: any WallClock
  let files: any FileSystem
  /// Bounds the transfers.
  let slots: DownloadSlots
  /// Bounds those that have files open, three each: transfers, and those that wait to try again. Twice
  /// as many, so that a host that is away holds up no other.
  let places: DownloadSlots
  let retries: RetryPolicy
  /// Runs what blocks on the disk.
  let pool = WorkerPool(threads: 4)
  private let running = Lock<[Download]>([], .registry)

  /// Makes one on a transport, which may be shared with others.
  public convenience init(
    transport: any HTTPTransport, options: DownloaderOptions = DownloaderOptions(),
    clock: any WallClock = SystemClock()
  ) {
    self.init(transport, options, clock, RealFileSystem())
  }

  init(
    _ transport: any HTTPTransport, _ options: DownloaderOptions, _ clock: any WallClock,
    _ files: any FileSystem
  ) {
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

  /// Starts a download, or joins the one that runs for the same URL and file, if that is asked for in
  /// the same way.
  public func start(_ request: DownloadRequest) -> Download {
    let (download, source, isNew) = running.withLock {
      running -> (Download, Download?, Bool) in
      let same = running.filter {
        $0.request.request == request.request && $0.request.credential == request.credential
      }
      let twin = same.first { $0.request.isAnswered(as: request) && $0.join() }
      if let twin { return (twin, nil, false) }
      let download = Download(request)
      running.append(download)
      let source = same.first { $0.request.file != request.file }
      return (download, request.reuse == .never ? nil : source, true)
    }
    guard isNew else { return download }
    Task {
      let outcome: Result<DownloadedFile, DownloadError>
      do throws(DownloadError) {
        outcome = .success(try await DownloadRun(self, download).run(copying: source))
      } catch {
        outcome = .failure(error)
      }
      running.withLock { $0.removeAll { $0 === download } }
      download.settle(outcome)
    }
    return download
  }

  /// Downloads a file and waits for it; cancelling the task ends it, and keeps what has come.
  ///
  /// - Throws: ``DownloadError``.
  public func download(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile {
    let download = start(request)
    // In a task that is not cancelled with the caller's: the part is let go before this returns.
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
      download.cancel()
    }
    return try result.get()
  }

  /// Returns the file of a request if it is there and unchanged, whatever its age, without asking
  /// anybody; nil if it is not.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  public func fileNow(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile? {
    try await DownloadRun(self, Download(request)).fileNow()
  }

  var now: Timestamp { Timestamp(nanoseconds: clock.now()) }
}
