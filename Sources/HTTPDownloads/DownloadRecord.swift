public import CacheFormat
public import HTTPSemantics

/// What is known of a downloaded file, or of the bytes of an unfinished download. It is kept in a
/// file beside them, see `DownloadPlace`.
public struct DownloadRecord: Sendable, Hashable {
  /// The name of the file within its folder.
  public internal(set) var file: ByteString

  /// The URL of the request, without credentials.
  public internal(set) var url: String

  /// The URL that answered: the last of the redirects.
  public internal(set) var answeredBy: String

  /// The status and fields of the answer, without `Set-Cookie`.
  public internal(set) var head: HTTPResponseHead

  /// The start of the download.
  public internal(set) var started: Timestamp

  /// The end of the download, or `nil` if it is unfinished.
  public internal(set) var ended: Timestamp?

  /// When the server gave the content or last confirmed it; `nil` if that was at the end of the
  /// download.
  var given: Timestamp?

  /// The expiry that the caller asked for, counted from the end of the download.
  public internal(set) var expiry: DownloadExpiry?

  /// The time until which the file is used without asking the server; `nil` without an expiry, or
  /// if the download is unfinished.
  public internal(set) var expires: Timestamp?

  /// The length of the whole file in bytes; `nil` if it is not known yet.
  public internal(set) var length: UInt64?

  /// The requests that the file answers.
  var selection = DownloadSelection()

  /// The time of the last change of the file, in nanoseconds since 1970. A file with another time
  /// was changed or replaced since.
  package internal(set) var modified: Int64?

  /// The same time of the file that was there before, if it was a download of the same URL: the
  /// process may be killed after this record is written and before the file is replaced.
  var replaced: Int64?

  /// The same time of a file of another origin that the unfinished download may replace.
  var mayReplace: Int64?

  init(
    file: ByteString, url: String, answeredBy: String, head: HTTPResponseHead, started: Timestamp
  ) {
    self.file = file
    self.url = url
    self.answeredBy = answeredBy
    self.head = head
    self.head.fields.removeAll(named: "Set-Cookie")
    self.started = started
  }

  /// The bytes that tell this answer to this file from all others. The sums of its blocks begin
  /// with them (Docs/Format.md, "Downloads").
  var mark: [UInt8] {
    let validators = ["ETag", "Last-Modified"].map { head.fields.first(named: $0)?.value ?? [] }
    let parts = [file.bytes, Array(url.utf8), Array("\(started.nanoseconds)".utf8)] + validators
    return parts.flatMap { $0 + [0] }
  }

  /// The time when the server gave the content or last confirmed it. The age that the answer had then
  /// is that of the field `Age`.
  package var lastGiven: Timestamp { given ?? ended ?? started }

  /// Notes that the server has confirmed the content.
  mutating func confirm(at time: Timestamp) {
    given = time
    head.fields.removeAll(named: "Age")
  }

  /// Sets the expiry, counted from `time`; `nil` leaves it as it is.
  mutating func expire(_ expiry: DownloadExpiry?, from time: Timestamp) {
    guard let expiry else { return }
    self.expiry = expiry
    expires = time.advanced(bySeconds: Double(expiry.seconds))
  }

  /// Returns whether the file may be used without asking the server, by the expiry of the record
  /// and by the one that is asked for now.
  func isGood(at now: Timestamp, for asked: DownloadExpiry?) -> Bool {
    guard let expires, let expiry else { return false }
    // The end of the download, its last confirmation by the server, or the last use of the file.
    let begun = expires.advanced(bySeconds: -Double(expiry.seconds))
    // After the clock was set back, the file is not used for longer than was asked for.
    guard begun <= now, now < expires else { return false }
    return asked.map { now < begun.advanced(bySeconds: Double($0.seconds)) } ?? true
  }
}
