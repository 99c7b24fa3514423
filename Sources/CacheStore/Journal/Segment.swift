internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// An open segment of the journal. It stays readable after its file was removed.
final class Segment: Sendable {
  let number: UInt32
  let file: Descriptor
  /// The time at which it was begun.
  let created: Timestamp
  /// The version of its format.
  let version: UInt32
  /// The oldest segment whose sync had failed when this one was begun, or 0.
  let unsynced: UInt32

  init(_ header: SegmentHeader, file: consuming Descriptor) {
    number = UInt32(clamping: header.number)
    self.file = file
    created = header.created
    version = header.version
    unsynced = header.unsynced
  }

  /// Returns the seed of the checksum of a record at `offset`.
  func seed(_ hashSeed: UInt64, _ offset: Int64) -> UInt64 {
    RecordFrame.seed(
      hashSeed: hashSeed, segment: UInt64(number), offset: UInt64(bitPattern: offset))
  }
}

/// A segment and the bytes in it, a part of `JournalState`.
struct SegmentUse {
  var segment: Segment
  /// The bytes of the put records to which the index points, without bodies that get files.
  var liveBytes: Int64 = 0
  /// The bytes of the bodies in it that have files or get them.
  var bodyBytes: Int64 = 0
  /// Whether a record in it carries a body.
  var carriesBodies = false
  /// The entries that only it has, and the bytes of their bodies.
  var unsettledEntries = 0
  var unsettledBytes: Int64 = 0
  /// The bytes read so far; the whole file once it is sealed.
  var readBytes = Int64(SegmentHeader.count)
  /// The number of the segment that follows, according to the seal; `nil` if it is not sealed.
  var next: UInt32?
  var isSealed: Bool { next != nil }
}

/// The `entries` directory between two removals of all entries. Operations on files keep it, so
/// that they notice a removal of all when they commit.
package final class EntriesDirectory: Sendable {
  package let directory: Descriptor
  /// The shards whose names this process has synced.
  let durableShards = Mutex<Set<Int>>([])

  package init(_ directory: consuming Descriptor) { self.directory = directory }
}
