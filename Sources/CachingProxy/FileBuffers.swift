import CLibrary
import Synchronization

/// Memory for parts of files that are read to be sent.
///
/// libmicrohttpd sets TCP_CORK before sendfile(2) if it needs more than one call, which is above
/// 128 KiB. That doubles the system time for a body of 256 KiB, and reading the body costs less
/// (Docs/Benchmarks.md). The number of buffers is limited, because a slow client keeps its buffer
/// for a long time.
final class FileBuffers: Sendable {
  /// The length of the longest part that is read, in bytes. Longer parts are sent with sendfile(2).
  static let largestBytes = 256 << 10

  private let most: Int
  private let count = Atomic(0)

  /// Creates memory for at most `most` parts at a time, 16 MiB by default.
  init(most: Int = 64) { self.most = most }

  /// Reads a part of a file.
  ///
  /// - Returns: The part, or `nil` if it is too long, too many parts are in memory, or the file is
  ///   shorter.
  func read(_ descriptor: Int32, at offset: UInt64, length: UInt64) -> Buffer? {
    guard length > 0, length <= UInt64(Self.largestBytes) else { return nil }
    guard count.add(1, ordering: .relaxed).newValue <= most else {
      count.subtract(1, ordering: .relaxed)
      return nil
    }
    // From here on the deinit of the buffer reduces the count, even if reading fails.
    let buffer = Buffer(Int(length), self)
    return buffer.fill(descriptor, offset) ? buffer : nil
  }

  @safe
  final class Buffer: @unchecked Sendable {
    // Unchecked: the bytes are written before any other code has the object.
    private let memory: UnsafeMutableRawBufferPointer
    private let owner: FileBuffers

    fileprivate init(_ count: Int, _ owner: FileBuffers) {
      unsafe memory = .allocate(byteCount: count, alignment: 16)
      self.owner = owner
    }

    deinit {
      unsafe memory.deallocate()
      owner.count.subtract(1, ordering: .relaxed)
    }

    /// The bytes, valid as long as the object.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(memory) }

    fileprivate func fill(_ descriptor: Int32, _ offset: UInt64) -> Bool {
      // Safety: the memory has that many bytes.
      unsafe pread(descriptor, memory.baseAddress, memory.count, off_t(offset)) == memory.count
    }
  }
}
