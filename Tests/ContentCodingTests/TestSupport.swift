import CZlib
import ContentCoding
import TestSupport

extension SplitMix64 {
  /// Makes bytes that compress somewhat: runs, copies of what was before, and noise.
  mutating func bytes(upTo limit: Int) -> [UInt8] {
    let count = Int.random(in: 0...limit, using: &self)
    var bytes: [UInt8] = []
    while bytes.count < count {
      let length = Int.random(in: 1...min(400, count - bytes.count), using: &self)
      switch Int.random(in: 0..<3, using: &self) {
      case 0: bytes += [UInt8](repeating: .random(in: 0...255, using: &self), count: length)
      case 1 where !bytes.isEmpty:
        let start = Int.random(in: 0..<bytes.count, using: &self)
        bytes += Array(bytes[start...].prefix(length))
      default: for _ in 0..<length { bytes.append(.random(in: 0...255, using: &self)) }
      }
    }
    return bytes
  }

  /// Cuts bytes at random places, into empty pieces, too.
  mutating func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    let largest = [50, 1_000, 100_000].randomElement(using: &self)!
    while !rest.isEmpty {
      let length = Int.random(in: 0...min(largest, rest.count), using: &self)
      pieces.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return pieces
  }
}

/// Names zlib's frames by its number for their windows.
enum Frame: CInt, CaseIterable {
  case gzip = 31
  case zlib = 15
  case raw = -15
}

/// Deflates with zlib itself.
func deflated(_ bytes: [UInt8], _ frame: Frame, level: CInt = 6) -> [UInt8] {
  var stream = unsafe z_stream()
  var input = bytes
  unsafe deflateInit2_(
    &stream, level, Z_DEFLATED, frame.rawValue, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
    CInt(MemoryLayout<z_stream>.size))
  // Safety: the stream and both buffers outlive the call, and the sizes are theirs.
  let output = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count + bytes.count / 100 + 100) {
    buffer, count in
    unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = CUnsignedInt(input.count)
      unsafe stream.next_out = buffer.baseAddress
      unsafe stream.avail_out = CUnsignedInt(buffer.count)
      let code = unsafe deflate(&stream, Z_FINISH)
      precondition(code == Z_STREAM_END)
      unsafe count = buffer.count - Int(stream.avail_out)
    }
  }
  unsafe deflateEnd(&stream)
  return output
}

/// Decodes everything, checks the size of the pieces, and returns the bytes or the error.
func decoded(
  _ pieces: [[UInt8]], _ codings: [String]
) -> Result<[UInt8], ContentCodingError>? {
  guard var decoder = ContentDecoder(codings: codings) else { return nil }
  var bytes: [UInt8] = []
  do throws(ContentCodingError) {
    for piece in pieces {
      decoder.append(piece)
      while let output = try decoder.next() {
        precondition(!output.isEmpty && output.count <= ContentDecoder.maximumPieceBytes)
        bytes += output
      }
    }
    try decoder.finish()
    return .success(bytes)
  } catch {
    return .failure(error)
  }
}
