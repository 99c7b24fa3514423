package import CacheSystem

/// A file that was downloaded.
public struct DownloadedFile: Sendable, Hashable {
  /// Where a file came from.
  public enum Source: Sendable, Hashable {
    /// From the network, at least in part.
    case network
    /// It was there, and the server was not asked, or could not be reached.
    case file
    /// It was there, and the server has confirmed it.
    case confirmed
    /// A copy of another file of the same URL, which was downloaded at the same time.
    case copy
    /// From the store.
    case store
  }

  /// The path of the file.
  public let path: String

  /// Its URL, answer, start, end and expiry.
  public let record: DownloadRecord

  /// Where it came from.
  public let source: Source

  /// The number of bytes of bodies that came from the network now, failed tries included.
  public let receivedBytes: UInt64

  /// The number of bytes that were there from an earlier call.
  public let resumedBytes: UInt64
}

extension DownloadedFile {
  package func isUnchanged(_ opened: borrowing Descriptor, _ files: any FileSystem) -> Bool {
    guard let status = try? files.status(of: opened.raw) else { return false }
    return status.isOwnFile && status.modified == record.modified && status.length == record.length
  }

  /// Reads the whole file; returns `nil` if it was changed since the download.
  package func bytes(_ files: any FileSystem = RealFileSystem()) throws(SystemError) -> [UInt8]? {
    let opened = try files.open(userPath: path, [.read])
    guard let length = record.length, isUnchanged(opened, files) else { return nil }
    let bytes = try files.readBytes(opened, count: Int(length), at: 0)
    // It may have changed while it was read.
    return UInt64(bytes.count) == length && isUnchanged(opened, files) ? bytes : nil
  }
}
