import CacheSystem

/// A file to be sent, and its state when its length was read.
struct UploadFile: Sendable {
  private static let system = RealFileSystem()

  let path: String
  let length: UInt64
  private let status: FileStatus

  /// Opens a file once to read its length, so that an unreadable file is an error before anything
  /// is sent.
  init(_ path: String) throws(UploadError) {
    self.path = path
    let descriptor = try Self.open(path)
    status = try Self.status(of: descriptor, path)
    length = status.length
  }

  /// Opens the file to read it.
  ///
  /// - Throws: ``UploadError/Cause/changed`` if the file has changed.
  func open() throws(UploadError) -> Descriptor {
    let descriptor = try Self.open(path)
    try check(descriptor)
    return descriptor
  }

  /// Reads a piece of the file. Before the last piece is returned, the file is checked for changes,
  /// so that the server never receives the end of a changed file.
  func read(
    _ descriptor: borrowing Descriptor, at offset: UInt64, atMost count: Int
  ) throws(UploadError) -> [UInt8] {
    let wanted = Int(min(UInt64(count), length - offset))
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try Self.system.readBytes(descriptor, count: wanted, at: Int64(offset))
    } catch {
      throw UploadError(.unreadable(error), path: path)
    }
    guard bytes.count == wanted else { throw UploadError(.changed, path: path) }
    if offset + UInt64(wanted) == length { try check(descriptor) }
    return bytes
  }

  private func check(_ descriptor: borrowing Descriptor) throws(UploadError) {
    let now = try Self.status(of: descriptor, path)
    guard now.length == status.length, now.modified == status.modified,
      now.identity == status.identity
    else { throw UploadError(.changed, path: path) }
  }

  private static func open(_ path: String) throws(UploadError) -> Descriptor {
    do throws(SystemError) {
      return try system.open(userPath: path, [])
    } catch {
      throw UploadError(.unreadable(error), path: path)
    }
  }

  private static func status(
    of descriptor: borrowing Descriptor, _ path: String
  ) throws(UploadError) -> FileStatus {
    let raw = descriptor.raw
    let status: FileStatus
    do throws(SystemError) {
      status = try system.status(of: raw)
    } catch {
      throw UploadError(.unreadable(error), path: path)
    }
    guard status.kind == .file else { throw UploadError(.notAFile, path: path) }
    return status
  }
}
