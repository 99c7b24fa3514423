import Synchronization

/// Counts calls of the file system.
final class CallCounter: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }

  /// Returns the number of calls before this one.
  func next() -> Int {
    count.withLock { count in
      count += 1
      return count - 1
    }
  }
}
