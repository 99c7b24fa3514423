/// Reads little-endian numbers from a part of an array; each read is checked against the end of the
/// part.
struct RecordCursor {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int

  init(_ bytes: [UInt8], from position: Int, to end: Int) {
    precondition(position >= 0 && position <= end && end <= bytes.count)
    self.bytes = bytes
    self.position = position
    self.end = end
  }

  @inline(__always)
  mutating func number<N: FixedWidthInteger & UnsignedInteger>(_: N.Type = N.self) -> N? {
    let width = N.bitWidth / 8
    guard end - position >= width else { return nil }
    // Safety: `position + width <= end <= bytes.count` was checked.
    let value = unsafe bytes.withUnsafeBytes {
      unsafe $0.loadUnaligned(fromByteOffset: position, as: N.self)
    }
    position += width
    return N(littleEndian: value)
  }

  mutating func text(_ count: Int) -> ByteString? {
    guard count >= 0, end - position >= count else { return nil }
    defer { position += count }
    return ByteString(bytes: Array(bytes[position..<position + count]))
  }
}

extension [UInt8] {
  /// Appends a number, the least significant byte first.
  @inline(__always)
  mutating func append<N: FixedWidthInteger & UnsignedInteger>(littleEndian value: N) {
    var little = value.littleEndian
    // Safety: the bytes of a local number, copied at once.
    unsafe Swift.withUnsafeBytes(of: &little) { unsafe self.append(contentsOf: $0) }
  }

  /// Replaces the bytes at `offset` by those of a number, the least significant byte first.
  @inline(__always)
  mutating func set<N: FixedWidthInteger & UnsignedInteger>(_ value: N, at offset: Int) {
    precondition(offset >= 0 && offset + N.bitWidth / 8 <= count)
    // Safety: the bounds were checked.
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: N.self)
    }
  }
}
