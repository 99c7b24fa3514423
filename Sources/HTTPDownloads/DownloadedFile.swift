/// Tells of a file that is there.
public struct DownloadedFile: Sendable, Hashable {
  /// Tells where the file came from.
  public enum Source: Sendable, Hashable {
    /// Bytes of it came now.
    case network
    /// It was there, and good without asking.
    case file
    /// It was there, and the server confirmed it.
    case confirmed
    /// It was copied from another file of the same URL, which was downloaded at the same time.
    case copy
    /// The store had it, and it was written from there.
    case store
  }

  /// Names the file.
  public let path: String

  /// Tells what is known of it: URL, answer, start, end, expiry.
  public let record: DownloadRecord

  /// Tells where it came from.
  public let source: Source

  /// Counts the bytes of bodies that came from the network now; those of failed tries included.
  public let receivedBytes: UInt64

  /// Counts the bytes that an earlier call had left.
  public let resumedBytes: UInt64
}
