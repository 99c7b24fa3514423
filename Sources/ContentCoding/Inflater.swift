import CZlib

/// One inflating stream of zlib.
///
/// Sendable without a lock: it belongs to one ``ContentDecoder``, which cannot be copied, so that
/// nothing else can use it.
@safe
final class Inflater: @unchecked Sendable {
  /// The frame around the deflated data; the value is zlib's number for its window.
  enum Format: CInt {
    case gzip = 31
    case zlib = 15
    case raw = -15
  }

  enum State {
    case goesOn
    case needsInput
    case atEnd
    case damaged
    case noMemory
  }

  /// The input that a step used, and its output.
  struct Step {
    let state: State
    let consumed: Int
    let output: [UInt8]
  }

  // Safety: zlib keeps a pointer back to this structure and checks it, so it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  /// Creates a stream; `nil` if there is no memory.
  init?(_ format: Format) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // Safety: the structure is zeroed, which selects zlib's own allocation.
    let code = unsafe inflateInit2_(
      stream, format.rawValue, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard code == Z_OK else {
      unsafe stream.deallocate()
      return nil
    }
  }

  deinit {
    // Safety: the stream was initialised, and is not used any more.
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Prepares for another member of the same format.
  func restart() {
    // Safety: the stream was initialised.
    unsafe inflateReset(stream)
  }

  /// Inflates into one piece of at most `limit` bytes.
  func step(_ input: [UInt8], from position: Int, atMost limit: Int) -> Step {
    var code = Z_OK
    var consumed = 0
    let output = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      unsafe input.withUnsafeBufferPointer { bytes in
        let available = min(bytes.count - position, Int(CUnsignedInt.max))
        // Safety: zlib reads and writes within the sizes that are set here. It does not write to
        // its input, which lacks `const` only because of old compilers. Both buffers outlive the
        // call.
        unsafe stream.pointee.next_in = UnsafeMutablePointer(
          mutating: bytes.baseAddress.map { unsafe $0 + position })
        unsafe stream.pointee.avail_in = CUnsignedInt(available)
        unsafe stream.pointee.next_out = buffer.baseAddress
        unsafe stream.pointee.avail_out = CUnsignedInt(limit)
        code = unsafe inflate(stream, Z_NO_FLUSH)
        consumed = unsafe available - Int(stream.pointee.avail_in)
        unsafe count = limit - Int(stream.pointee.avail_out)
      }
    }
    // A small piece must not keep the memory of a large one allocated.
    // Safety: the buffer is copied into an array of its own size.
    let piece =
      output.count < limit / 2
      ? unsafe output.withUnsafeBufferPointer { unsafe Array($0) } : output
    return Step(state: state(code, made: output.count), consumed: consumed, output: piece)
  }

  private func state(_ code: CInt, made: Int) -> State {
    switch code {
    case Z_STREAM_END: .atEnd
    case Z_OK: unsafe stream.pointee.avail_in == 0 && made == 0 ? .needsInput : .goesOn
    // No progress was possible: there is neither input nor remaining output.
    case Z_BUF_ERROR: .needsInput
    case Z_MEM_ERROR: .noMemory
    default: .damaged
    }
  }
}
