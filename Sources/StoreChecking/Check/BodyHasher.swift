internal import CacheFormat
internal import CacheStore
internal import CacheSystem
internal import Synchronization

/// A hasher of bodies, which does not read a file again whose digest is known. For one thread, with one
/// buffer for all files.
@safe
final class BodyHasher {
  private static let bufferBytes = 1 << 20

  private let fileSystem: any FileSystem
  private let hashSeed: UInt64
  private let known: HashedFiles
  private let isCancelled: @Sendable () -> Bool
  private let buffer: UnsafeMutableRawBufferPointer
  private var hasher = DigestHasher()
  private(set) var readBytes: UInt64 = 0

  init(
    _ fileSystem: any FileSystem, hashSeed: UInt64, _ known: HashedFiles,
    isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.fileSystem = fileSystem
    self.hashSeed = hashSeed
    self.known = known
    self.isCancelled = isCancelled
    // Safety: the buffer is freed in `deinit`, and used by the methods of this object only.
    unsafe buffer = .allocate(byteCount: Self.bufferBytes, alignment: 4096)
  }

  deinit { unsafe buffer.deallocate() }

  /// Counts a body that a metadata file has. It was verified when that was read.
  func count(embedded body: [UInt8]) { readBytes += UInt64(body.count) }

  /// Hashes a regular file of a known length. If the check is cancelled meanwhile, the body counts as
  /// not read.
  func read(
    _ name: PathName, _ status: FileStatus, in directory: borrowing Descriptor,
    expecting digest: Digest
  ) -> BodyReading {
    let isKept = known.keepsAll || status.linkCount > 1
    do throws(SystemError) {
      if isKept, let found = known.digest(of: status) {
        return try verdict(found, digest, name, status, in: directory)
      }
      let hashed =
        status.length < UInt64(Self.bufferBytes)
        ? try hashSmall(name, in: directory) : try hashLarge(name, status.length, in: directory)
      guard let found = hashed else { return .notRead }
      if isKept { known.insert(status, found) }
      return try verdict(found, digest, name, status, in: directory)
    } catch {
      return isCancelled() ? .notRead : .unreadable(error)
    }
  }

  /// Compares the plain digest of a file with the expected one, which may be seeded.
  private func verdict(
    _ found: Digest, _ expected: Digest, _ name: PathName, _ status: FileStatus,
    in directory: borrowing Descriptor
  ) throws(SystemError) -> BodyReading {
    if found == expected { return .right }
    let file = try fileSystem.open(name, in: directory, [.read])
    let isRight = try fileSystem.holdsBody(
      file, expected, count: status.length, hashSeed: hashSeed
    ) { _, _ throws(SystemError) in
      if isCancelled() { throw .interrupted }
    }
    // A file that has grown meanwhile may begin with the right bytes.
    guard isRight, try fileSystem.status(of: file.raw).length == status.length
    else { return .wrong(found) }
    return .right
  }

  /// Opens, reads and closes a file in one step. A file that has grown meanwhile has another
  /// digest.
  private func hashSmall(
    _ name: PathName, in directory: borrowing Descriptor
  ) throws(SystemError) -> Digest {
    let count = unsafe try fileSystem.readFile(name, in: directory.raw, into: buffer)
    readBytes += UInt64(count)
    // Safety: `count` bytes were read into the buffer.
    return unsafe Digest(hashing: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  /// Returns the digest of a file; `nil` if the check was cancelled before its end.
  private func hashLarge(
    _ name: PathName, _ length: UInt64, in directory: borrowing Descriptor
  ) throws(SystemError) -> Digest? {
    let file = try fileSystem.open(name, in: directory, [.read])
    hasher.reset()
    // One byte more than there should be, so that a file that grows does not pass.
    while hasher.count <= length {
      if isCancelled() { return nil }
      let count = unsafe try fileSystem.read(file, into: buffer, at: Int64(hasher.count))
      if count == 0 { break }
      readBytes += UInt64(count)
      // Safety: `count` bytes were read into the buffer.
      unsafe hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return hasher.digest()
  }
}

/// The digests of files that have several names, or that a later pass of a repair examines again. Such
/// a file is read once, or by each thread that meets it before one of them has its digest.
final class HashedFiles: Sendable {
  private struct Hashed {
    var length: UInt64
    var modified: Int64
    var digest: Digest
  }

  /// The number of digests from which no more files with one name are kept; those are read again.
  private static let maximumFiles = 1 << 18
  /// Whether the digests of files with one name are kept, too.
  let keepsAll: Bool

  init(keepsAll: Bool) { self.keepsAll = keepsAll }

  private let files = Mutex<[FileIdentity: Hashed]>([:])

  /// Returns the digest of a file; `nil` if it has not been read, or has changed since.
  func digest(of status: FileStatus) -> Digest? {
    files.withLock { files in
      guard let found = files[status.identity], found.length == status.length,
        found.modified == status.modified
      else { return nil }
      return found.digest
    }
  }

  func insert(_ status: FileStatus, _ digest: Digest) {
    files.withLock { files in
      if status.linkCount == 1, files.count >= Self.maximumFiles { return }
      files[status.identity] = Hashed(
        length: status.length, modified: status.modified, digest: digest)
    }
  }
}
