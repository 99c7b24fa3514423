internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Reads a body piece by piece; it stays readable when its entry is removed or replaced.
public final class BodyReader: Sendable {
  /// The bytes of the body.
  public let length: UInt64

  private struct State: ~Copyable {
    var position: UInt64 = 0
    /// Sees the bytes as long as they are read in order from the beginning.
    var hasher = DigestHasher()
    var isInOrder = true
  }

  private let file: Descriptor
  private let fileSystem: any FileSystem
  private let digest: Digest
  private let path: String
  private let state = Mutex(State())

  init(
    file: consuming Descriptor, fileSystem: any FileSystem, length: UInt64, digest: Digest,
    path: String
  ) {
    self.file = file
    self.fileSystem = fileSystem
    self.length = length
    self.digest = digest
    self.path = path
  }

  /// Where the next read begins, in bytes.
  public var position: UInt64 { state.withLock { $0.position } }

  /// Reads the next bytes into a buffer.
  ///
  /// A body that is read in order from its first to its last byte is verified: the verdict comes
  /// with the last piece. What is read after `seek` cannot be.
  ///
  /// - Returns: the number of bytes; 0 at the end only.
  /// - Throws: `damaged` where the bytes are not those that were stored; `inputOutput`.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
    try state.withLock { state throws(StoreError) -> Int in
      let rest = length - state.position
      let count = Int(min(UInt64(buffer.count), rest))
      // Safety: `count` is at most the buffer's own.
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
      let position = Int64(state.position)
      let got = try system(path) { () throws(SystemError) in
        unsafe try fileSystem.read(file, into: target, at: position)
      }
      guard got == count else {
        throw damaged("it ends after \(state.position + UInt64(got)) bytes")
      }
      state.position += UInt64(got)
      if state.isInOrder {
        unsafe state.hasher.update(UnsafeRawBufferPointer(target))
        if state.position == length, state.hasher.digest() != digest {
          throw damaged("its bytes are not those that were stored")
        }
      }
      return got
    }
  }

  /// Reads the next bytes, up to `count`; none at the end.
  ///
  /// - Throws: as `read(into:)`.
  public func read(upTo count: Int) throws(StoreError) -> [UInt8] {
    var failure: StoreError?
    let size = Int(min(UInt64(max(0, count)), length - position))
    // Safety: the bytes that were read count as initialised.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, done in
      do throws(StoreError) {
        done = unsafe try read(into: UnsafeMutableRawBufferPointer(buffer))
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Goes to a place, at most the end. What is read from there is not verified, except after going
  /// to the beginning.
  public func seek(to position: UInt64) {
    state.withLock { state in
      if position == state.position { return }
      state.position = min(position, length)
      state.isInOrder = position == 0
      state.hasher.reset()
    }
  }

  /// Maps the whole body into memory, after verifying it.
  ///
  /// - Parameter isVerified: false leaves out the verification, which reads every byte.
  /// - Throws: `damaged`, `inputOutput`.
  public func map(isVerified: Bool = true) throws(StoreError) -> MappedBody {
    let mapped = try system(path) { () throws(SystemError) in
      try MappedBody(file, fileSystem, count: Int(length))
    }
    if isVerified {
      let found = unsafe mapped.withBytes { unsafe Digest(hashing: $0) }
      guard found == digest else { throw damaged("its bytes are not those that were stored") }
    }
    return mapped
  }

  /// Opens the file once more for a caller that hands it to the system, as sendfile(2).
  ///
  /// The number is valid as long as the reader lives; positional calls alone may be used with it.
  public var descriptor: Int32 { file.raw }

  private func damaged(_ cause: String) -> StoreError {
    StoreError(.damaged, path: path, cause: cause, remedy: "fetch it again; check the store")
  }
}

/// A body in memory as the system maps its file: pages come when they are looked at.
///
/// The store never changes a file in place; somebody else who cuts it off while it is mapped ends
/// this process with SIGBUS, as with every mapping.
@safe
public final class MappedBody: @unchecked Sendable {
  // Unchecked: the bytes are never written to.
  private let bytes: UnsafeRawBufferPointer
  private let fileSystem: any FileSystem

  init(
    _ file: borrowing Descriptor, _ fileSystem: any FileSystem, count: Int
  ) throws(SystemError) {
    self.fileSystem = fileSystem
    // An empty mapping is an error to mmap(2).
    unsafe bytes =
      count == 0
      ? UnsafeRawBufferPointer(start: nil, count: 0) : try fileSystem.map(file.raw, count: count)
  }

  deinit {
    if unsafe bytes.count > 0 { unsafe fileSystem.unmap(bytes) }
  }

  /// The number of bytes.
  public var count: Int { unsafe bytes.count }

  /// Gives the bytes to `body`; they are valid for the call only.
  public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    unsafe try body(bytes)
  }
}
