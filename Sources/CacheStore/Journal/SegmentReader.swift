package import CacheFormat
package import CacheSystem

/// A reader of the records of a segment, which skips damaged parts (Docs/Format.md, "Reading").
///
/// No lock is needed, because a record that is just being written is a part of the tail.
package struct SegmentReader {
  /// A part of a segment.
  @safe package enum Item {
    /// A whole record: its header, its bytes including the header, and the offset at which it
    /// begins. The bytes are valid during the call only.
    case record(RecordFrame.Header, UnsafeRawBufferPointer, at: Int64)
    /// Bytes before a record that are no record.
    case damage(Range<Int64>)
    /// Bytes at the end that are no record.
    case tail(Range<Int64>)
  }

  private enum Progress {
    /// The caller has ended the reading.
    case stopped
    case moved
    /// More bytes are needed.
    case stuck
  }

  /// The bytes that are read at once.
  private static let windowBytes = 1 << 20
  /// The bytes that are read at once if a record, or bytes that look like one, are longer.
  private static let widestBytes = RecordFrame.maximumLength + windowBytes

  private let number: UInt32
  private let hashSeed: UInt64
  /// The offset of the next record.
  private var position: Int64
  /// The offset at which the present bytes that are no record begin.
  private var damagedFrom: Int64?

  /// Makes a reader of a segment.
  ///
  /// - Parameter position: the offset of a record, or of the end.
  package init(_ number: UInt32, hashSeed: UInt64, from position: Int64) {
    self.number = number
    self.hashSeed = hashSeed
    self.position = position
  }

  /// Reads a file up to a length.
  ///
  /// - Parameter take: called with each item, in order; reading ends when it returns false.
  /// - Throws: the error of read(2).
  /// - Complexity: O(bytes); 1 MiB of memory, and 5 MiB if a record needs it.
  package mutating func read(
    _ file: borrowing Descriptor, upTo length: Int64, _ files: any FileSystem,
    _ take: (Item) -> Bool
  ) throws(SystemError) {
    var most = Self.windowBytes
    var isEnd = false
    while !isEnd, position < length {
      let start = position
      let count = Int(min(length - start, Int64(most)))
      var problem: SystemError?
      // Safety: the buffer has `count` bytes, and only those that were read are used.
      let progress = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) {
        buffer -> Progress in
        do throws(SystemError) {
          let got = unsafe try files.read(file, into: buffer, at: start)
          // The file may have been cut off meanwhile.
          isEnd = got < count || start + Int64(got) >= length
          return unsafe scan(
            UnsafeRawBufferPointer(rebasing: buffer[..<got]), isEnd: isEnd,
            isWidest: most == Self.widestBytes, take)
        } catch {
          problem = error
          return .stopped
        }
      }
      if let problem { throw problem }
      if progress == .stopped { return }
      most = progress == .stuck ? Self.widestBytes : Self.windowBytes
    }
    giveTail(take)
  }

  /// Reads bytes that were just written at the position.
  mutating func read(_ bytes: UnsafeRawBufferPointer, _ take: (Item) -> Bool) {
    if unsafe scan(bytes, isEnd: true, isWidest: true, take) != .stopped { giveTail(take) }
  }

  private mutating func giveTail(_ take: (Item) -> Bool) {
    if let from = damagedFrom.take() { _ = take(.tail(from..<position)) }
  }

  /// Reads the records in `bytes`, which begin at the position.
  ///
  /// - Parameters:
  ///   - isEnd: whether they are the end of the segment.
  ///   - isWidest: whether they would contain the longest record completely.
  private mutating func scan(
    _ bytes: UnsafeRawBufferPointer, isEnd: Bool, isWidest: Bool, _ take: (Item) -> Bool
  ) -> Progress {
    let start = position
    var place = 0
    while place < bytes.count {
      let seed = RecordFrame.seed(
        hashSeed: hashSeed, segment: UInt64(number), offset: UInt64(start + Int64(place)))
      switch unsafe RecordFrame.read(bytes, at: place, seed: seed) {
      case .record(let header):
        if let from = damagedFrom.take(), !take(.damage(from..<position)) { return .stopped }
        // Safety: `RecordFrame.read` has checked that the record lies within the bytes.
        let record = unsafe UnsafeRawBufferPointer(
          rebasing: bytes[place..<(place + header.length)])
        let offset = position
        place += header.length
        position = start + Int64(place)
        if unsafe !take(.record(header, record, at: offset)) { return .stopped }
      case .incomplete where !isEnd && !(isWidest && place == 0):
        return place > 0 ? .moved : .stuck
      case .incomplete, .damaged:
        damagedFrom = damagedFrom ?? position
        place = unsafe Self.nextMark(bytes, after: place)
        position = start + Int64(place)
      }
    }
    return .moved
  }

  /// Returns the next place at which a record may begin: a place with the mark of records, or one
  /// at which a header no longer fits.
  private static func nextMark(_ bytes: UnsafeRawBufferPointer, after damaged: Int) -> Int {
    var place = damaged + RecordFrame.alignment
    // Safety: each load lies within the bytes.
    while place + RecordFrame.headerCount <= bytes.count,
      unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt32.self))
        != RecordFrame.magic
    {
      place += RecordFrame.alignment
    }
    return min(place, bytes.count)
  }
}
