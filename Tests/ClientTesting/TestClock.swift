import CacheSystem
import Synchronization

/// Stands still until a test moves it; begins on 15 January 2027, 08:00:00 UTC.
package final class TestClock: WallClock {
  private let nanoseconds = Mutex<Int64>(1_800_000_000_000_000_000)

  package init() {}

  package func now() -> Int64 { nanoseconds.withLock { $0 } }

  package func advance(bySeconds seconds: Int64) {
    nanoseconds.withLock { $0 += seconds * 1_000_000_000 }
  }
}
