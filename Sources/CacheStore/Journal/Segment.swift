internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// One open segment of the journal. Stays readable when its file has been dropped.
final class Segment: Sendable {
  let number: UInt32
  let file: Descriptor
  /// When it was begun.
  let created: Timestamp

  init(number: UInt32, file: consuming Descriptor, created: Timestamp) {
    self.number = number
    self.file = file
    self.created = created
  }

  /// The seed of the checksum of a record at `offset`.
  func seed(_ hashSeed: UInt64, _ offset: Int64) -> UInt64 {
    RecordFrame.seed(
      hashSeed: hashSeed, segment: UInt64(number), offset: UInt64(bitPattern: offset))
  }
}

/// What the state knows of one segment.
struct SegmentUse {
  var segment: Segment
  /// The bytes of records that count: the put records the index points to.
  var liveBytes: Int64 = 0
  /// The bytes read so far; the whole file once it is sealed.
  var readBytes = Int64(SegmentHeader.count)
  var isSealed = false
}

/// The `entries` directory between two removals of all. Operations on files hold on to it, so that
/// what they began in an old one is noticed when they commit.
package final class EntriesDirectory: Sendable {
  let generation: UInt64
  package let directory: Descriptor
  /// The shards whose names this process knows to survive loss of power.
  let durableShards = Mutex<Set<Int>>([])

  package init(generation: UInt64, directory: consuming Descriptor) {
    self.generation = generation
    self.directory = directory
  }
}
