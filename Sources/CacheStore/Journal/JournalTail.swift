internal import Synchronization

/// Tells how far the journal has been read, to those who do not hold the state of the store: so the
/// question whether it has grown is asked outside of the lock that all look-ups share.
final class JournalTail: Sendable {
  /// The file of the last segment, -1 if there is none, and the bytes of it that have been read.
  struct Mark: Equatable {
    var file: Int32 = -1
    var position: Int64 = 0
  }

  private let shared = Mutex(Mark())

  var mark: Mark { shared.withLock { $0 } }

  func set(_ mark: Mark) { shared.withLock { $0 = mark } }
}
