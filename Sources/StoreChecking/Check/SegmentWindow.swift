internal import CacheFormat
internal import CacheSystem

/// A piece of a segment in memory, moved along as records are read.
struct SegmentWindow {
  enum Reading {
    case record(RecordFrame.Header, ArraySlice<UInt8>)
    /// No whole record begins here.
    case none
  }

  private static let stepBytes = 1 << 20

  private let number: UInt32
  private let hashSeed: UInt64
  /// The bytes of the segment.
  private let length: Int
  /// Where the next record begins, in bytes from the beginning of the segment.
  var position = SegmentHeader.count
  private var start = 0
  private var bytes: [UInt8] = []

  init(number: UInt32, hashSeed: UInt64, length: Int) {
    self.number = number
    self.hashSeed = hashSeed
    self.length = length
  }

  /// Reads what stands at the position: from memory, or a megabyte from there on, or as much as the
  /// longest record has.
  mutating func read(
    _ file: borrowing Descriptor, _ fileSystem: any FileSystem
  ) throws(SystemError) -> Reading {
    if position >= start, position < start + bytes.count {
      let reading = parse()
      if start + bytes.count >= length { return self.reading(reading) }
      if reading != .incomplete { return self.reading(reading) }
    }
    for count in [Self.stepBytes, RecordFrame.maximumLength] {
      start = position
      bytes = try fileSystem.readBytes(
        file, count: min(length - start, count), at: Int64(start))
      let reading = parse()
      if reading != .incomplete || count >= length - start { return self.reading(reading) }
    }
    return .none
  }

  private func parse() -> RecordFrame.Reading {
    let seed = RecordFrame.seed(
      hashSeed: hashSeed, segment: UInt64(number), offset: UInt64(position))
    let place = position - start
    // Safety: the array is held while its bytes are read.
    return unsafe bytes.withUnsafeBytes { unsafe RecordFrame.read($0, at: place, seed: seed) }
  }

  private func reading(_ reading: RecordFrame.Reading) -> Reading {
    guard case .record(let header) = reading else { return .none }
    let place = position - start
    return .record(header, bytes[place..<(place + header.length)])
  }

  /// Goes on to the next place where a record may begin: where its mark stands, or the end of what is
  /// in memory.
  mutating func skip() {
    var place = position - start + RecordFrame.alignment
    // Safety: each load lies within the bytes.
    unsafe bytes.withUnsafeBytes { bytes in
      while place + RecordFrame.headerCount <= bytes.count,
        unsafe UInt32(
          littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt32.self))
          != RecordFrame.magic
      {
        place += RecordFrame.alignment
      }
    }
    // The last bytes in memory are looked at again with what follows them, unless nothing does.
    position = start + place
    if start + bytes.count >= length, place + RecordFrame.headerCount > bytes.count {
      position = length
    }
  }
}
