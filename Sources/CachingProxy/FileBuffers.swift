import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Memory for parts of files that are read to be sent.
///
/// libmicrohttpd sets TCP_CORK before sendfile(2) where it needs more than one call, which is above
/// 128 KiB. That doubles the system's time for a body of 256 KiB, and reading it costs less
/// (Docs/Benchmarks.md). The number of buffers is limited, as a slow client keeps its buffer for long.
final class FileBuffers: Sendable {
  /// The most bytes that are read; longer parts are for sendfile(2).
  static let largestBytes = 256 << 10

  private let most: Int
  private let count = Atomic(0)

  /// Makes memory for so many parts at a time, 16 MiB by default.
  init(most: Int = 64) { self.most = most }

  /// Reads a part of a file.
  ///
  /// - Returns: nil where the part is too long, too many have been read and are not sent yet, or the
  ///   file is shorter.
  func read(_ descriptor: Int32, at offset: UInt64, length: UInt64) -> Buffer? {
    guard length > 0, length <= UInt64(Self.largestBytes) else { return nil }
    guard count.add(1, ordering: .relaxed).newValue <= most else {
      count.subtract(1, ordering: .relaxed)
      return nil
    }
    // From here on the buffer counts itself off, whatever it has read.
    let buffer = Buffer(Int(length), self)
    return buffer.fill(descriptor, offset) ? buffer : nil
  }

  /// A part of a file in memory.
  @safe
  final class Buffer: @unchecked Sendable {
    // Unchecked: the bytes are written before anybody else has the object.
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

    /// The bytes, which live as long as the object.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(memory) }

    fileprivate func fill(_ descriptor: Int32, _ offset: UInt64) -> Bool {
      // Safety: the memory has that many bytes.
      unsafe pread(descriptor, memory.baseAddress, memory.count, off_t(offset)) == memory.count
    }
  }
}
