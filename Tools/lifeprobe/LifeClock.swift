import CacheSystem
import Synchronization

/// A clock that goes on a little each time it is asked, and otherwise as the life says.
final class LifeClock: WallClock {
  private static let start: Int64 = 1_700_000_000_000_000_000
  private static let end: Int64 = 7_258_118_400_000_000_000
  private let time = Atomic<Int64>(start)

  func now() -> Int64 { time.add(1_000, ordering: .relaxed).newValue }

  /// Moves the time, backwards when negative. A long life comes to the year 2200; the clock is set
  /// back to where it began then.
  func move(seconds: Int64) {
    let now = time.add(seconds * 1_000_000_000, ordering: .relaxed).newValue
    if now > Self.end { time.store(Self.start, ordering: .relaxed) }
  }
}
