internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Keeps a survey of a store that is not much older than its readers want.
///
/// Walking takes seconds where there are a million entries, so it is done on a thread of its own,
/// when someone asks, and not so often that it would take more than a twentieth of a core.
final class StoreSurveyor: Sendable {
  /// How old a survey is at least before it is made again, in nanoseconds and in walks.
  static let leastAge: Int64 = 2_000_000_000
  static let leastWalks: Int64 = 20
  private let store: Store
  private let clock: any WallClock
  private let patienceNanoseconds: Int64
  private let state = Monitor(State())

  private struct State {
    var newest: StoreSurvey?
    var isWalking = false
    var isStopped = false

    /// Whether a new survey is due. A clock that went back makes the one there is old, too.
    func isOld(at now: Int64) -> Bool {
      guard let newest else { return true }
      let age = now &- newest.time.nanoseconds
      let due = max(leastAge, newest.nanoseconds.multiplied(by: leastWalks))
      return age < 0 || age >= due
    }
  }

  /// Makes a surveyor; nothing is walked before someone asks.
  ///
  /// - Parameter patienceNanoseconds: how long a reader waits for a new survey.
  init(_ store: Store, clock: any WallClock, patienceNanoseconds: Int64 = 100_000_000) {
    self.store = store
    self.clock = clock
    self.patienceNanoseconds = patienceNanoseconds
  }

  /// Gives the newest survey, and has a new one made where it is old; nil as long as there is none.
  ///
  /// Waits for a new one, but not long.
  func survey() -> StoreSurvey? {
    let now = clock.now()
    let isOld = state.change { state -> Bool in
      guard !state.isWalking, !state.isStopped, state.isOld(at: now) else { return false }
      state.isWalking = true
      return true
    }
    if isOld { begin() }
    let found = state.wait(nanoseconds: patienceNanoseconds) { state -> StoreSurvey?? in
      state.isWalking ? nil : .some(state.newest)
    }
    return found ?? state.change { $0.newest }
  }

  /// Ends a walk that is under way, and begins none any more; returns when there is none.
  func stop() {
    state.change { $0.isStopped = true }
    state.wait { $0.isWalking ? nil : () }
  }

  private func begin() {
    do throws(SystemError) {
      try startThread { [self] in walk() }
    } catch {
      // No thread to be had: whoever asks next tries again.
      state.change { $0.isWalking = false }
    }
  }

  private func walk() {
    let begin = clock.now()
    var survey = StoreSurvey(of: store) { state.change { $0.isStopped } }
    let end = clock.now()
    survey?.time = Timestamp(nanoseconds: end)
    survey?.nanoseconds = max(0, end &- begin)
    state.change { state in
      state.isWalking = false
      if let survey { state.newest = survey }
    }
  }
}

extension Int64 {
  fileprivate func multiplied(by factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
