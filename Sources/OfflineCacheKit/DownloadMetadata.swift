/// Information about the file that a response was downloaded to.
public struct DownloadMetadata: Sendable, Hashable {
  /// The downloaded file.
  public let file: URL

  /// The times at which the download began and ended.
  public let started, ended: Date

  /// The time until which the file is used without asking the server; `nil` if the server is asked
  /// each time.
  public let expires: Date?

  /// The source of the file.
  public let source: DownloadedFile.Source

  /// The bytes that were received now, and those that an earlier call had left.
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
