import CacheSystem
import Synchronization

/// Keeps a time that only moves when it is told to; origin and cache share it.
final class VirtualClock: WallClock {
  private static let second: Int64 = 1_000_000_000

  /// Starts on Thursday, 1 January 2026, 00:00:00 UTC.
  private let nanoseconds = Mutex<Int64>(1_767_225_600 * VirtualClock.second)

  func now() -> Int64 { nanoseconds.withLock { $0 } }

  /// Tells the seconds since 1970.
  var seconds: Int { Int(now() / Self.second) }

  /// Lets seconds pass.
  func advance(bySeconds seconds: Int) {
    nanoseconds.withLock { $0 += Int64(seconds) * Self.second }
  }
}
