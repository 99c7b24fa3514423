import CacheFormat
import CacheSystem
import Foundation
import Synchronization
import TestSupport

/// A clock that goes as the test says.
final class SteppingClock: WallClock {
  private let time: Atomic<Int64>
  private let step: Int64

  /// Makes a clock that goes on by `step` nanoseconds each time it is asked.
  init(_ start: Int64 = 1_700_000_000_000_000_000, step: Int64 = 0) {
    time = Atomic(start)
    self.step = step
  }

  func now() -> Int64 { time.add(step, ordering: .relaxed).oldValue }

  /// Sets the time.
  func set(_ now: Int64) { time.store(now, ordering: .relaxed) }

  /// Moves the time, backwards when negative.
  func move(seconds: Int64) { time.add(seconds * 1_000_000_000, ordering: .relaxed) }
}

/// Bodies of any length that differ in all their bytes.
enum TestBody {
  static func make(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: seed)
    return random.bytes(count)
  }
}

/// How much the long tests do.
enum TestScale {
  /// The environment variable that a full run sets to 1000000.
  static let variable = "OFFLINECACHE_TEST_OPERATIONS"

  /// The operations of the model test, over all its seeds.
  static var operations: Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? 60_000
  }

  /// Whether this is the full run.
  static var isFull: Bool { operations >= 1_000_000 }

  /// The distance between the places that the crash loops try. The quick run sets the variable
  /// (`Tools/test` says to what); without it every place is tried.
  static let sampleStep =
    ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_SAMPLE"].flatMap { Int($0) } ?? 1
}
