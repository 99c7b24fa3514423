internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// Provides a survey of a store that is reasonably new.
///
/// With a million entries a walk takes seconds. So it is done on its own thread, on request, and so
/// rarely that it takes at most a twentieth of a core.
final class StoreSurveyor: Sendable {
  /// The age from which a survey is made again: in nanoseconds, and in multiples of the duration of
  /// a walk.
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

    /// Returns whether a new survey is due. If the clock was set back, the present one counts as
    /// old.
    func isOld(at now: Int64) -> Bool {
      guard let newest else { return true }
      let age = now &- newest.time.nanoseconds
      return age < 0 || (age >= leastAge && age / leastWalks >= newest.nanoseconds)
    }
  }

  /// Creates a surveyor. No walk begins before the first request.
  ///
  /// - Parameter patienceNanoseconds: The longest time that a reader waits for a new survey.
  init(_ store: Store, clock: any WallClock, patienceNanoseconds: Int64) {
    self.store = store
    self.clock = clock
    self.patienceNanoseconds = patienceNanoseconds
  }

  /// Returns the newest survey, or `nil` if there is none yet. If it is old, starts a new one.
  ///
  /// The caller that starts it waits for it, but not long; the others do not wait, because each holds
  /// a thread.
  func survey() -> StoreSurvey? {
    let now = clock.now()
    let isOld = state.change { state -> Bool in
      guard !state.isWalking, !state.isStopped, state.isOld(at: now) else { return false }
      state.isWalking = true
      return true
    }
    if isOld { begin() } else if let newest = state.change({ $0.newest }) { return newest }
    let found = state.wait(nanoseconds: patienceNanoseconds) { state -> StoreSurvey?? in
      state.isWalking ? nil : .some(state.newest)
    }
    return found ?? state.change { $0.newest }
  }

  /// Forgets the newest survey: the store has changed.
  func renew() { state.change { $0.newest = nil } }

  /// Ends a running walk and prevents new ones. Returns when no walk is running.
  func stop() {
    state.change { $0.isStopped = true }
    state.wait { $0.isWalking ? nil : () }
  }

  private func begin() {
    do throws(SystemError) {
      try startThread { [self] in walk() }
    } catch {
      // No thread could be started: the next request tries again.
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
