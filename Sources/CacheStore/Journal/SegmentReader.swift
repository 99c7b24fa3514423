package import CacheFormat
package import CacheSystem

/// Reads the records of a segment, over damage (Docs/Format.md, "Reading").
///
/// No lock is needed: a record that is just being written is a part of the tail.
package struct SegmentReader {
  /// A part of a segment.
  @safe package enum Item {
    /// A whole record, its bytes from the header on, and the offset at which it begins. The bytes are
    /// valid during the call only.
    case record(RecordFrame.Header, UnsafeRawBufferPointer, at: Int64)
    /// Bytes that are no record, before one that is.
    case damage(Range<Int64>)
    /// Bytes at the end that are no record.
    case tail(Range<Int64>)
  }

  private enum Progress {
    /// The caller wants no more.
    case stopped
    case moved
    /// More bytes are needed.
    case stuck
  }

  /// What is read at a time, in bytes.
  private static let windowBytes = 1 << 20
  /// The same where a record, or something that looks like one, is longer.
  private static let widestBytes = RecordFrame.maximumLength + windowBytes

  private let number: UInt32
  private let hashSeed: UInt64
  /// The offset of the next record.
  private var position: Int64
  /// Where the bytes begin that are no record.
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
  /// - Complexity: O(bytes); 1 MiB of memory, and 5 MiB where a record needs it.
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
      // Safety: the buffer has `count` bytes; only those that were read are looked at.
      let progress = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) {
        buffer -> Progress in
        do throws(SystemError) {
          let got = unsafe try files.read(file, into: buffer, at: start)
          // A file that was cut meanwhile ends where its bytes end.
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

  /// Reads the records in `bytes`, which stand at the position.
  ///
  /// - Parameters:
  ///   - isEnd: whether nothing follows them.
  ///   - isWidest: whether the longest record would be whole in them.
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
        // Safety: the frame says that the record lies within the bytes.
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

  /// Returns the next place where a record may begin: where its mark stands, or where a header does not
  /// fit any more.
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
