internal import Synchronization

/// The position up to which the journal has been read, for threads that have not locked the state
/// of the store. With it, a look-up queries the length of the journal outside of the lock that all
/// look-ups share.
final class JournalTail: Sendable {
  /// The file of the last segment, -1 if there is none, and the bytes of it that have been read.
  struct Mark: Equatable {
    var file: Int32 = -1
    var position: Int64 = 0
  }

  /// The file in the upper half, the position in the lower one, so that both change at once.
  private let shared = Atomic<UInt64>(UInt64(UInt32.max) << 32)

  var mark: Mark {
    let both = shared.load(ordering: .acquiring)
    return Mark(
      file: Int32(truncatingIfNeeded: both >> 32),
      position: Int64(UInt32(truncatingIfNeeded: both)))
  }

  func set(_ mark: Mark) {
    // No segment is that long (`Journal.maximumSegmentBytes`).
    let position = UInt32(exactly: mark.position)
    let file = position == nil ? -1 : mark.file
    let both = UInt64(UInt32(bitPattern: file)) << 32 | UInt64(position ?? 0)
    shared.store(both, ordering: .releasing)
  }
}
