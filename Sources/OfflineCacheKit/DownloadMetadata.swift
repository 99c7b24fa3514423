public import CacheClient
import CacheFormat
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
