/// Keeps requests from a server that fails.
///
/// Three failures in a row, or 30 percent of the last 20 results, open it for 1 second. Then one
/// request is let through as a probe; for look-ups, ``TierServer`` sends it in the background. If
/// it succeeds, the breaker is closed; otherwise it is open again. It is open twice as long each
/// time, up to 60 seconds, until 20 results in a row were good. Times are nanoseconds of a
/// monotonic clock.
struct Breaker: Sendable {
  enum State: String, Sendable {
    case closed, open, probing
  }

  static let failuresInRow = 3
  static let window = 20
  static let failuresInWindow = 6
  static let shortest: Int64 = 1_000_000_000
  static let longest: Int64 = 60_000_000_000

  private(set) var state = State.closed
  private var inRow = 0
  /// The last results, the newest last; true for a failure.
  private var results: [Bool] = []
  /// The time for which it is open the next time.
  private var wait = Breaker.shortest
  private var openUntil: Int64 = 0
  /// The end of the time after which a probe without a result is forgotten.
  private var probeUntil: Int64 = 0
  /// A number that changes with each probe. The results of requests of an earlier round do not
  /// count: they say nothing about the server as it is now.
  private var round: UInt64 = 0

  /// Returns whether a request may be sent, without any change.
  func mayAdmit(at now: Int64) -> Bool {
    switch state {
    case .closed: true
    case .open: now >= openUntil
    case .probing: now >= probeUntil
    }
  }

  /// Returns the round of a request that may be sent, whose result must be recorded; `nil` if none
  /// may.
  mutating func admit(at now: Int64) -> UInt64? {
    guard mayAdmit(at: now) else { return nil }
    if state != .closed {
      state = .probing
      probeUntil = now + Self.longest
      round += 1
    }
    return round
  }

  /// Records the result of a request that was admitted.
  mutating func record(isFailure: Bool, of admitted: UInt64, at now: Int64) {
    guard admitted == round else { return }
    switch state {
    case .probing:
      if isFailure { open(at: now) } else { state = .closed }
    case .closed:
      inRow = isFailure ? inRow + 1 : 0
      results.append(isFailure)
      if results.count > Self.window { results.removeFirst() }
      if inRow >= Self.failuresInRow || results.count(where: { $0 }) >= Self.failuresInWindow {
        open(at: now)
      } else if results.count == Self.window, !results.contains(true) {
        wait = Self.shortest
      }
    case .open: break
    }
  }

  /// Records that an admitted request ended without a result: it was cancelled.
  mutating func forget(_ admitted: UInt64, at now: Int64) {
    guard admitted == round, state == .probing else { return }
    state = .open
    openUntil = now
  }

  private mutating func open(at now: Int64) {
    state = .open
    openUntil = now + wait
    wait = min(2 * wait, Self.longest)
    inRow = 0
    results = []
  }
}
