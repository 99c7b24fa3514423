import CacheFormat
import CacheSystem
import Foundation
import Synchronization

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

/// Random numbers that one seed decides (SplitMix64), so that a failing run can be repeated.
struct StoreTestRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}

/// Bodies of any length that differ in all their bytes.
enum TestBody {
  static func make(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = StoreTestRandom(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      var word = random.next()
      for _ in 0..<8 {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
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
}
