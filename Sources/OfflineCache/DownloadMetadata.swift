import CacheFormat
public import CachingClient
public import Foundation

/// Tells of the file that a response was downloaded to.
public struct DownloadMetadata: Sendable, Hashable {
  /// Names the file.
  public let file: URL

  /// Tells when the download began and ended.
  public let started, ended: Date

  /// Tells until when the file is used without asking the server; nil: it is asked each time.
  public let expires: Date?

  /// Tells where the file came from.
  public let source: DownloadedFile.Source

  /// Counts the bytes that came now, and those that an earlier call had left.
  public let receivedBytes, resumedBytes: Int

  init(_ file: DownloadedFile) {
    self.file = URL(fileURLWithPath: file.path)
    started = Date(timeIntervalSince1970: file.record.started.seconds)
    ended = Date(timeIntervalSince1970: (file.record.ended ?? file.record.started).seconds)
    expires = file.record.expires.map { Date(timeIntervalSince1970: $0.seconds) }
    source = file.source
    receivedBytes = Int(clamping: file.receivedBytes)
    resumedBytes = Int(clamping: file.resumedBytes)
  }
}

extension Download {
  /// Makes a `Progress` that follows the download, and can pause, resume and cancel it. The total is
  /// -1 as long as it is not known.
  public func makeProgress() -> Progress {
    let progress = Progress(totalUnitCount: -1)
    progress.kind = .file
    progress.isPausable = true
    progress.pausingHandler = { [weak self] in self?.pause() }
    progress.resumingHandler = { [weak self] in self?.resume() }
    progress.cancellationHandler = { [weak self] in self?.cancel() }
    let updates = updates
    Task {
      for await update in updates {
        if let total = update.total { progress.totalUnitCount = Int64(clamping: total) }
        progress.completedUnitCount = Int64(clamping: update.received)
        if let rate = update.bytesPerSecond {
          progress.setUserInfoObject(Int(rate), forKey: .throughputKey)
        }
      }
    }
    return progress
  }
}
