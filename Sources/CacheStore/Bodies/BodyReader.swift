internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// A reader of a body piece by piece. The body stays readable after its entry was removed or
/// replaced.
public final class BodyReader: Sendable {
  /// The bytes of the body.
  public let length: UInt64

  private struct State: ~Copyable {
    var position: UInt64 = 0
    /// The digest of the bytes, as long as they are read in order from the beginning.
    var hasher = DigestHasher()
    var isInOrder = true
  }

  /// The open file of a body.
  private final class File: Sendable {
    let descriptor: Descriptor
    let system: any FileSystem
    let identity: VerifiedBodies.Identity
    let verified: VerifiedBodies

    init(
      _ descriptor: consuming Descriptor, _ system: any FileSystem,
      _ identity: VerifiedBodies.Identity, _ verified: VerifiedBodies
    ) {
      self.descriptor = descriptor
      self.system = system
      self.identity = identity
      self.verified = verified
    }
  }

  private enum Source {
    case file(File)
    /// A body that was in the journal. It was verified when it was read.
    case memory([UInt8])
  }

  private let source: Source
  private let digest: Digest
  private let hashSeed: UInt64
  private let path: String
  private let state = Mutex(State())
  /// Called when the body is found to be damaged, perhaps again and again.
  private let reportDamage: @Sendable () -> Void

  init(
    file: consuming Descriptor, fileSystem: any FileSystem, length: UInt64, digest: Digest,
    hashSeed: UInt64, path: String, identity: VerifiedBodies.Identity, verified: VerifiedBodies,
    reportDamage: @escaping @Sendable () -> Void
  ) {
    source = .file(File(file, fileSystem, identity, verified))
    self.length = length
    self.digest = digest
    self.hashSeed = hashSeed
    self.path = path
    self.reportDamage = reportDamage
  }

  /// Makes a reader of a body that was read and verified.
  init(_ body: [UInt8], digest: Digest, path: String) {
    source = .memory(body)
    length = UInt64(body.count)
    self.digest = digest
    hashSeed = 0
    self.path = path
    reportDamage = {}
  }

  /// The offset in bytes at which the next read begins.
  public var position: UInt64 { state.withLock { $0.position } }

  /// Reads the next bytes into a buffer.
  ///
  /// A body that is read in order from its first to its last byte is verified. The read of the last
  /// piece throws if it is damaged. A body cannot be verified in this way after a `seek` to any
  /// other place than its beginning.
  ///
  /// - Returns: the number of bytes; 0 at the end only.
  /// - Throws: `damaged` if the bytes are not those that were stored; `inputOutput`.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
    try state.withLock { state throws(StoreError) -> Int in
      let rest = length - state.position
      let count = Int(min(UInt64(buffer.count), rest))
      // Safety: `count` is at most the length of the buffer.
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
      let got = unsafe try fill(target, from: state.position)
      guard got == count else {
        throw damaged("it ends after \(state.position + UInt64(got)) bytes")
      }
      state.position += UInt64(got)
      if state.isInOrder, case .file(let file) = source {
        unsafe state.hasher.update(UnsafeRawBufferPointer(target))
        if state.position == length {
          // Bodies with a seeded digest are rare, so they are simply read a second time.
          if state.hasher.digest() != digest { try verify(file) }
          file.verified.insert(file.identity, digest)
        }
      }
      return got
    }
  }

  /// Copies bytes from an offset into a buffer.
  private func fill(
    _ target: UnsafeMutableRawBufferPointer, from offset: UInt64
  ) throws(StoreError) -> Int {
    switch source {
    case .file(let file):
      return try system(path) { () throws(SystemError) in
        unsafe try file.system.read(file.descriptor, into: target, at: Int64(offset))
      }
    case .memory(let bytes):
      // Safety: the caller asks for at most the bytes after the offset.
      unsafe target.copyBytes(from: bytes[Int(offset)...].prefix(target.count))
      return target.count
    }
  }

  /// Reads and returns the next bytes, up to `count`; none at the end.
  ///
  /// - Throws: the errors of `read(into:)`.
  public func read(upTo count: Int) throws(StoreError) -> [UInt8] {
    var failure: StoreError?
    let size = Int(min(UInt64(max(0, count)), length - position))
    // Without capacity, the array would write to the storage that all empty arrays share.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(size, 1)) { buffer, done in
      do throws(StoreError) {
        // Safety: the bytes that were read count as initialised.
        done = unsafe try read(
          into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: size))
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Whether this process has verified the body, and its file has not been changed since.
  ///
  /// - Complexity: O(1), one fstat(2).
  public var isVerified: Bool {
    guard case .file(let file) = source else { return true }
    guard let status = try? file.system.status(of: file.descriptor.raw),
      VerifiedBodies.Identity(status) == file.identity
    else { return false }
    return file.verified.contains(file.identity, digest)
  }

  /// Verifies the whole body, unless this process has done that since the file was last changed.
  /// Afterwards a part of the body, or a copy that the system makes (sendfile(2)), need not be
  /// verified.
  ///
  /// The position does not change.
  ///
  /// - Throws: `damaged`, `inputOutput`.
  /// - Complexity: O(length) once for each file and process, O(1) after that.
  public func verify() throws(StoreError) {
    guard case .file(let file) = source, !isVerified else { return }
    try verify(file)
    file.verified.insert(file.identity, digest)
  }

  private func verify(_ file: File) throws(StoreError) {
    let isRight = try system(path) { () throws(SystemError) in
      try file.system.holdsBody(file.descriptor, digest, count: length, hashSeed: hashSeed)
    }
    if !isRight { throw damaged("its bytes are not those that were stored") }
  }

  /// Reads up to `count` bytes from an offset, and does not move the position. Returns fewer bytes
  /// only at the end.
  ///
  /// The bytes are not verified; see `verify()`. Any number of threads may read at once.
  ///
  /// - Throws: `damaged` if the file is shorter than the body; `inputOutput`.
  public func read(at offset: UInt64, upTo count: Int) throws(StoreError) -> [UInt8] {
    let wanted = Int(min(UInt64(max(0, count)), length - min(offset, length)))
    let bytes = try bytes(wanted, at: offset)
    guard bytes.count == wanted else {
      throw damaged("it ends after \(offset + UInt64(bytes.count)) bytes")
    }
    return bytes
  }

  private func bytes(_ count: Int, at offset: UInt64) throws(StoreError) -> [UInt8] {
    switch source {
    case .file(let file):
      return try system(path) { () throws(SystemError) in
        try file.system.readBytes(file.descriptor, count: count, at: Int64(clamping: offset))
      }
    case .memory(let bytes):
      return Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
    }
  }

  /// Sets the position, at most to the end of the body. Reads after it are not verified, unless it
  /// is the beginning.
  public func seek(to position: UInt64) {
    state.withLock { state in
      if position == state.position { return }
      state.position = min(position, length)
      state.isInOrder = position == 0
      state.hasher.reset()
    }
  }

  /// The descriptor of the file, for a caller that gives it to a system call such as sendfile(2);
  /// `nil` for a small body that is in memory.
  ///
  /// Valid as long as the reader exists. Use it only in calls that take an offset.
  public var descriptor: Int32? {
    if case .file(let file) = source { file.descriptor.raw } else { nil }
  }

  private func damaged(_ cause: String) -> StoreError {
    reportDamage()
    return StoreError(.damaged, path: path, cause: cause, remedy: "fetch it again; check the store")
  }
}
