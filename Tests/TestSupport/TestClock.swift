import CacheSystem
import Synchronization

/// A clock that stands still until a test moves it.
package final class TestClock: WallClock {
  private let nanoseconds: Mutex<Int64>

  /// Begins at a time, in nanoseconds since 1970; by default on Friday, 15 January 2027, 08:00:00
  /// UTC.
  package init(_ start: Int64 = 1_800_000_000_000_000_000) { nanoseconds = Mutex(start) }

  package func now() -> Int64 { nanoseconds.withLock { $0 } }

  /// Moves the time, backwards if negative.
  package func advance(bySeconds seconds: Double) {
    nanoseconds.withLock { $0 += Int64(seconds * 1e9) }
  }
}
