import CacheSystem
import Synchronization

/// A clock that goes on a little each time it is asked, and otherwise as the life says.
final class LifeClock: WallClock {
  private let time = Atomic<Int64>(1_700_000_000_000_000_000)

  func now() -> Int64 { time.add(1_000, ordering: .relaxed).newValue }

  /// Moves the time, backwards when negative.
  func move(seconds: Int64) { time.add(seconds * 1_000_000_000, ordering: .relaxed) }
}
