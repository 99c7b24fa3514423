import CacheSystem
import Synchronization

final class SubstituteFile: Sendable {
  let path: String
  let status: FileStatus
  private let descriptor: Descriptor
  private static let files = RealFileSystem()

  /// Opens a file that the user named; links are followed.
  ///
  /// - Throws: `notAFile` for a folder, a device or a pipe; `othersFile` for one that another user
  ///   may have put there.
  init(path: String) throws(SystemError) {
    self.path = path
    descriptor = try Self.files.open(userPath: path, [.read])
    status = try Self.regular(descriptor.raw)
    if UserPath.isPlanted(path) { throw .othersFile }
  }

  /// Opens a file below a folder that the user named. No link below it is followed, so no path
  /// leads out of it.
  init(_ names: [[UInt8]], below folder: String) throws(SystemError) {
    let shown = names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    path = folder.hasSuffix("/") ? folder + shown : folder + "/" + shown
    var current = try Self.files.open(userPath: folder, [.read, .directory])
    for name in names.dropLast() {
      current = try Self.files.open(try Self.name(name), in: current, [.read, .directory])
    }
    descriptor = try Self.files.open(try Self.name(names.last ?? []), in: current, [.read])
    status = try Self.regular(descriptor.raw)
    if status.isPlanted(in: try Self.files.status(of: current.raw)) { throw .othersFile }
  }

  private static func name(_ bytes: [UInt8]) throws(SystemError) -> PathName {
    guard let name = PathName(bytes: bytes) else { throw .notFound }
    return name
  }

  private static func regular(_ descriptor: Int32) throws(SystemError) -> FileStatus {
    let status = try files.status(of: descriptor)
    guard status.kind == .file else { throw .notAFile }
    return status
  }

  /// Reads all of the requested bytes.
  ///
  /// - Throws: `wrongLength` if the file was changed since it was opened.
  func read(at offset: UInt64, count: Int) throws(SystemError) -> [UInt8] {
    let bytes = try Self.files.readBytes(descriptor, count: count, at: Int64(offset))
    // Checked after reading: bytes that were read before a change are right. If an update replaced
    // the file by another one, the open file is still the same.
    let now = try Self.files.status(of: descriptor.raw)
    guard bytes.count == count, now.length == status.length, now.modified == status.modified else {
      throw .wrongLength
    }
    return bytes
  }

  func digest() throws(SystemError) -> Digest {
    var hasher = DigestHasher()
    var offset: UInt64 = 0
    while offset < status.length {
      let bytes = try read(at: offset, count: Int(min(status.length - offset, 1 << 20)))
      hasher.update(bytes)
      offset += UInt64(bytes.count)
    }
    return hasher.digest()
  }
}

/// The digests of files that were hashed for their entity tags.
final class SubstituteDigests: Sendable {
  private struct Key: Hashable {
    let path: String
    let file: FileIdentity
    let length: UInt64
    let modified: Int64
  }

  /// The limit of digests; at the limit all are discarded.
  private static let limit = 4096

  private let digests = Mutex<[Key: Digest]>([:])

  /// Returns the entity tag of a file: made of its content, or for a long file of its length and
  /// time. It is strong, because a change of the content changes it.
  func tag(of file: SubstituteFile, _ content: [UInt8]?) throws(SystemError) -> String {
    if let content { return "\"\(Digest(hashing: content))\"" }
    guard file.status.length <= ResponseCache.verifiedBytes else {
      let time = String(file.status.modified, radix: 16)
      return "\"\(String(file.status.length, radix: 16))-\(time)\""
    }
    let key = Key(
      path: file.path, file: file.status.identity, length: file.status.length,
      modified: file.status.modified)
    if let known = digests.withLock({ $0[key] }) { return "\"\(known)\"" }
    let digest = try file.digest()
    digests.withLock { digests in
      if digests.count >= Self.limit { digests = [:] }
      digests[key] = digest
    }
    return "\"\(digest)\""
  }
}
