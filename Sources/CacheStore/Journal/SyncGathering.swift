/// Decides whether a thread waits for others before it syncs the journal for all of them.
///
/// The threads that a sync releases often come back with their next record. If the next sync began at
/// once, it would be for the others only, and each sync for half of the threads.
struct SyncGathering {
  /// The threads that waited when the last sync ended, for it or for the next one.
  private var threads = 0
  private var lastNanoseconds: Int64 = 0
  /// The number of syncs that begin at once, because the threads had not come in time.
  private var hurried = 0

  /// The number of threads to wait for, and for how many nanoseconds.
  typealias Wish = (threads: Int, nanoseconds: Int64)

  /// The longest wait in nanoseconds. It is also at most half of the duration of the last sync.
  static let longest: Int64 = 1_000_000
  /// The number of syncs that do not wait after one that has waited in vain.
  static let pause = 16

  /// Begins a sync.
  ///
  /// - Parameter waiting: the threads that wait now, the one that will sync included.
  /// - Returns: the number of threads to wait for, and for how long; `nil` to sync at once.
  mutating func begin(waiting: Int) -> Wish? {
    if waiting >= threads { return nil }
    if hurried > 0 {
      hurried -= 1
      return nil
    }
    return (threads, min(lastNanoseconds / 2, Self.longest))
  }

  /// Notes that not all threads came in time.
  mutating func missed() { hurried = Self.pause }

  /// Ends a sync.
  ///
  /// - Parameters:
  ///   - waiting: the threads that wait now, those that it releases included.
  ///   - nanoseconds: its duration.
  mutating func end(waiting: Int, nanoseconds: Int64) {
    threads = waiting
    lastNanoseconds = nanoseconds
  }
}
