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

  private let shared = Mutex(Mark())

  var mark: Mark { shared.withLock { $0 } }

  func set(_ mark: Mark) { shared.withLock { $0 = mark } }
}
