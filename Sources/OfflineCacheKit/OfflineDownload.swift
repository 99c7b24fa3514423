import CacheSystem

/// A download that was started.
///
/// ```swift
/// let download = try cache.startDownload(for: request, to: file)
/// for await progress in download.updates { print(progress.received, progress.total ?? 0) }
/// let response = try await download.value()
/// ```
///
/// The download continues even if its progress is not read. Any number of tasks may use it.
public final class OfflineDownload: Sendable {
  /// The target file, which exists once the download has finished.
  public let file: URL

  private let download: Download
  private let membership: Membership
  private let answer: @Sendable (DownloadedFile) throws(URLError) -> OfflineURLResponse
  private let url: URL

  init(
    _ download: Download, of url: URL, to file: URL,
    answer: @escaping @Sendable (DownloadedFile) throws(URLError) -> OfflineURLResponse
  ) {
    self.download = download
    membership = Membership(download)
    self.url = url
    self.file = file
    self.answer = answer
  }

  /// Waits for the file and returns the response; its ``OfflineURLResponse/metadata`` describes the
  /// file.
  ///
  /// Cancelling the task that waits does not end the download; ``cancel()`` does.
  ///
  /// - Throws: The errors of ``OfflineCache/download(for:to:settings:)``.
  public func value() async throws(URLError) -> OfflineURLResponse {
    let file: DownloadedFile
    do throws(DownloadError) {
      file = try await download.value()
    } catch {
      throw URLError(error, url: url)
    }
    return try answer(file)
  }

  /// The progress now.
  public var progress: DownloadProgress { download.progress }

  /// The progress now and at each change, at most ten times a second, until the download is over.
  public var updates: AsyncStream<DownloadProgress> { download.updates }

  /// Returns a `Progress` that follows the download, and can pause, resume and cancel it. Its total
  /// is -1 while the length is not known.
  public func makeProgress() -> Progress {
    let progress = Progress(totalUnitCount: -1)
    progress.kind = .file
    progress.isPausable = true
    progress.pausingHandler = { [weak download] in download?.pause() }
    progress.resumingHandler = { [weak download] in download?.resume() }
    progress.cancellationHandler = { [membership] in membership.cancel() }
    let updates = updates
    Task {
      for await update in updates {
        if let total = update.total { progress.totalUnitCount = Int64(clamping: total) }
        progress.completedUnitCount = Int64(clamping: update.received)
        progress.setUserInfoObject(update.bytesPerSecond.map { Int($0) }, forKey: .throughputKey)
      }
    }
    return progress
  }

  /// Stops the transfer and keeps the received bytes, until ``resume()``.
  public func pause() { download.pause() }

  /// Resumes the download after ``pause()``.
  public func resume() { download.resume() }

  /// Cancels the download and keeps the received bytes for another call. If several callers share
  /// it, it ends when all of them have cancelled.
  public func cancel() { membership.cancel() }

  /// What one caller has in a download that others may have joined. It ends once, although both a
  /// button and a `Progress` may cancel.
  private final class Membership: Sendable {
    private let download: Lock<Download?>

    init(_ download: Download) { self.download = Lock(download) }

    func cancel() { download.withLock { $0.take() }?.cancel() }
  }
}

/// A download that an earlier run began and did not finish.
public struct UnfinishedDownload: Sendable, Hashable {
  /// The requested URL, without credentials.
  public let url: URL

  /// The target file. If it exists, the download was to replace it.
  public let file: URL

  /// The received bytes, which have not been verified.
  public let receivedBytes: Int

  /// The length of the whole file in bytes, or `nil` if it is not known.
  public let expectedBytes: Int?

  /// The time at which the download began.
  public let started: Date

  init?(_ found: FoundDownload) {
    guard !found.isFinished, let url = URL(string: found.record.url) else { return nil }
    self.url = url
    file = URL(fileURLWithPath: found.path)
    receivedBytes = Int(clamping: found.received)
    expectedBytes = found.record.length.map { Int(clamping: $0) }
    started = Date(timeIntervalSince1970: found.record.started.seconds)
  }
}
