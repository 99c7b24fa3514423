internal import CacheSystem
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

  /// The nanoseconds for which the journal is not queried again; 0 if it always is.
  let lag: Int64
  /// The time by the monotonic clock until which it need not be queried.
  private let restsUntil = Atomic(Int64.min)

  init(lag: Duration = .zero) {
    let (seconds, attoseconds) = lag.components
    let whole = Int64(clamping: min(max(0, seconds), 3_600)) * 1_000_000_000
    self.lag = max(0, whole + attoseconds / 1_000_000_000)
  }

  /// Whether the length of the journal was queried less than the lag ago.
  @inline(__always)
  var rests: Bool {
    lag > 0 && monotonicNanoseconds() < restsUntil.load(ordering: .relaxed)
  }

  /// Notes that the length of the journal was queried now.
  @inline(__always)
  func rest() {
    if lag > 0 { restsUntil.store(monotonicNanoseconds() + lag, ordering: .relaxed) }
  }

  /// The file in the upper half, the position in the lower one, so that both change at once.
  private let shared = Atomic<UInt64>(UInt64(UInt32.max) << 32)

  var mark: Mark {
    let both = shared.load(ordering: .acquiring)
    return Mark(
      file: Int32(truncatingIfNeeded: both >> 32),
      position: Int64(UInt32(truncatingIfNeeded: both)))
  }

  func set(_ mark: Mark) {
    // No segment is that long (`Journal.maximumSegmentBytes`).
    let position = UInt32(exactly: mark.position)
    let file = position == nil ? -1 : mark.file
    let both = UInt64(UInt32(bitPattern: file)) << 32 | UInt64(position ?? 0)
    shared.store(both, ordering: .releasing)
  }
}
