internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The kinds of work of the upkeep.
struct UpkeepWork: OptionSet, Sendable {
  let rawValue: UInt8
  /// Write the access times to the journal. This may wait for a second.
  static let touches = UpkeepWork(rawValue: 1)
  /// Evict down to the low-water mark.
  static let evict = UpkeepWork(rawValue: 2)
  /// Remove dead records from the journal.
  static let compact = UpkeepWork(rawValue: 4)
  /// Compare tree and journal, after a crash or if the journal is damaged.
  static let reconcile = UpkeepWork(rawValue: 8)
  /// Delete the directories that were moved into staging.
  static let sweep = UpkeepWork(rawValue: 16)
  /// Set damaged entries aside.
  static let setAside = UpkeepWork(rawValue: 32)
  /// Write the files of entries that are in the log, from a time on.
  static let settle = UpkeepWork(rawValue: 64)
  /// End the session, if nothing is changed any more.
  static let rest = UpkeepWork(rawValue: 128)
}

/// The background thread of a store. It is started when there is work, and sleeps when there is
/// none, for a minute at most.
final class Upkeep: Sendable {
  struct State: Sendable {
    var work: UpkeepWork = []
    var damaged: [Slot] = []
    /// The time by the monotonic clock from which entries are settled.
    var settlesAt = Int64.max
    /// The time from which the store may rest.
    var restsAt = Int64.max
    /// The time from which tree and journal are compared again, after an attempt has failed.
    var reconcilesAt: Int64 = 0
    /// Whether a thread waits for a comparison that has not begun yet, so that it is not put off.
    var isReconcilingAwaited = false
    /// The time before which no comparison is done that is not urgent.
    var comparesInTurnAt: Int64 = 0
    /// The wait before the next attempt that fails.
    var reconcilePause = Upkeep.firstPause
    /// Does the work; `nil` while the store is being opened, and after it was closed.
    var perform: (@Sendable (UpkeepWork) -> Void)?
    var isRunning = false
    var isBusy = false
    var isStopping = false
    var thread: UInt64 = 0
    /// Whether the thread itself asks. It cannot wait for itself: the last reference to the store may be
    /// released on it, in a delegate for example.
    var isOwnThread: Bool { isRunning && thread == threadNumber() }

    /// What fails may ask for a comparison, too: so while attempts fail, the next one is not at once.
    mutating func bringReconcilingForward() {
      let hasFailed = reconcilePause > Upkeep.firstPause
      reconcilesAt =
        hasFailed ? min(reconcilesAt, monotonicNanoseconds() + Upkeep.firstPause) : 0
    }
  }

  let state = Monitor(State())
  /// `State.settlesAt`, for threads that have not locked the state.
  private let settlesBefore = Atomic(Int64.max)

  /// The nanoseconds for which access times stay only in memory.
  private static let touchDelay = PendingTouches.delayNanoseconds
  /// The nanoseconds after which an idle store reads what others have appended to the journal, and
  /// with that closes the segments that they have dropped.
  private static let followInterval: Int64 = 60_000_000_000
  /// The nanoseconds without a change after which a store rests; it may take twice as long.
  private static let restDelay: Int64 = 2_000_000_000
  /// The wait after the first failed attempt to compare tree and journal, in nanoseconds. It doubles
  /// with each, up to an hour, because each may read all metadata files.
  private static let firstPause: Int64 = 1_000_000_000
  private static let longestPause: Int64 = 3_600_000_000_000
  /// The nanoseconds between two comparisons that are not urgent, at least.
  private static let comparePause: Int64 = 60_000_000_000
  /// The most damaged entries that wait to be set aside. Others are found again later.
  private static let maximumDamaged = 1024

  /// Whether requests are ignored: in read-only stores, and for a checker.
  private let isIdle: Bool

  init(_ options: Options) {
    isIdle = options.isReadOnly || options.isSupervised
  }

  /// Begins the work that was requested while the store was opened.
  ///
  /// - Parameter perform: does the work. It keeps the parts of the store, but not the store itself,
  ///   which closes when its user releases it.
  func begin(_ perform: @escaping @Sendable (UpkeepWork) -> Void) {
    state.change { $0.perform = perform }
    request([])
  }

  /// Requests work, and starts the thread if it is not running and the store is open.
  func request(_ work: UpkeepWork, isUrgent: Bool = true) {
    if isIdle { return }
    let starts = state.change { state -> Bool in
      if state.isStopping { return false }
      state.work.formUnion(work)
      if work.contains(.reconcile), isUrgent { state.bringReconcilingForward() }
      if state.isRunning || state.perform == nil || state.work.isEmpty { return false }
      state.isRunning = true
      return true
    }
    if starts { start() }
  }

  /// Requests a comparison of tree and journal that is not urgent. It takes a tenth of the time at most.
  func requestReconcilingInTurn() {
    let isNew = state.change { state -> Bool in
      if state.work.contains(.reconcile) { return false }
      state.reconcilesAt = state.comparesInTurnAt
      return true
    }
    if isNew { request(.reconcile, isUrgent: false) }
  }

  /// Requests a comparison of tree and journal, at once also if attempts have failed.
  func requestReconciling() {
    state.change { state in
      state.reconcilesAt = 0
      state.isReconcilingAwaited = true
    }
    request(.reconcile)
  }

  /// Notes whether the comparison of tree and journal was completed. If not, it is done again later.
  ///
  /// - Parameters:
  ///   - begin: the time by the monotonic clock at which it was begun.
  ///   - isUrgent: whether entries are doubtful until it is completed, and not only files left over.
  func endReconciling(_ isCompleted: Bool, begin: Int64, isUrgent: Bool) {
    state.change { state in
      let now = monotonicNanoseconds()
      state.comparesInTurnAt = now + max(Self.comparePause, 10 * (now - begin))
      if isCompleted {
        state.reconcilePause = Self.firstPause
      } else {
        state.work.insert(.reconcile)
        state.reconcilesAt =
          state.isReconcilingAwaited
          ? 0 : max(now + state.reconcilePause, isUrgent ? 0 : state.comparesInTurnAt)
        state.reconcilePause = min(2 * state.reconcilePause, Self.longestPause)
      }
    }
  }

  /// Requests that entries are settled after a number of nanoseconds. A request that is already
  /// there for an earlier time stays.
  func requestSettling(after nanoseconds: Int64) {
    if isIdle { return }
    let time = nanoseconds > 0 ? monotonicNanoseconds() + nanoseconds : 0
    if settlesBefore.load(ordering: .relaxed) <= time { return }
    settlesBefore.store(time, ordering: .relaxed)
    state.change { $0.settlesAt = min($0.settlesAt, time) }
    request(.settle)
  }

  /// Leaves what is not settled to the next request.
  func putOffSettling() {
    state.change { state in
      state.work.remove(.settle)
      state.settlesAt = .max
      settlesBefore.store(.max, ordering: .relaxed)
    }
  }

  /// Requests that the store rests when it is not changed for a while.
  func requestRest() {
    if isIdle { return }
    state.change { $0.restsAt = monotonicNanoseconds() + Self.restDelay }
    request(.rest)
  }

  /// Requests that a damaged entry is set aside.
  func setAside(_ slot: Slot) {
    state.change { state in
      if state.damaged.count < Self.maximumDamaged { state.damaged.append(slot) }
    }
    request(.setAside)
  }

  /// Calls `look` again and again, for up to 0.7 s, until it returns true.
  ///
  /// - Returns: whether it did. If it did not, the store may be closed meanwhile: `isStopping`.
  func awaitMoment(_ look: () throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    for milliseconds: Int64 in [0, 2, 8, 32, 128, 512] {
      if isStopping { return false }
      if milliseconds > 0 { pause(nanoseconds: milliseconds * 1_000_000) }
      if try look() { return true }
    }
    return false
  }

  private func start() {
    do throws(SystemError) {
      try startThread { [self] in
        state.change { $0.thread = threadNumber() }
        while let work = next() {
          state.change { $0.perform }?(work)
          state.change { $0.isBusy = false }
        }
        state.change { state in
          state.isRunning = false
          state.isBusy = false
        }
      }
    } catch {
      // The system has no thread now. The next request tries again.
      settlesBefore.store(.max, ordering: .relaxed)
      state.change { $0.isRunning = false }
    }
  }

  /// What the thread does next.
  private enum Turn {
    case stop
    case work(UpkeepWork)
    /// Only work is left that is not due yet.
    case wait
  }

  /// Waits for work, and returns it; `nil` if the store is being closed.
  private func next() -> UpkeepWork? {
    while true {
      let urgent = state.wait(nanoseconds: Self.touchDelay) { state -> Turn? in
        if state.isStopping { return .stop }
        return Self.due(state).subtracting(.touches).isEmpty ? nil : .work(take(&state))
      }
      let idleTime = state.wait { Self.idleTime($0) }
      let end = monotonicNanoseconds() + idleTime
      let turn =
        urgent
        ?? state.wait(nanoseconds: idleTime) { state -> Turn? in
          if state.isStopping { return .stop }
          if !Self.due(state).isEmpty { return .work(take(&state)) }
          // A comparison may have been brought forward.
          let isEarlier = monotonicNanoseconds() + Self.idleTime(state) < end
          return isEarlier || !state.work.subtracting(.reconcile).isEmpty ? .wait : nil
        }
      switch turn {
      case .stop: return nil
      case .work(let work): return work
      case .wait: continue
      case nil: return []
      }
    }
  }

  /// Returns the nanoseconds for which the thread sleeps if nothing is requested.
  private static func idleTime(_ state: State) -> Int64 {
    if !state.work.contains(.reconcile) { return followInterval }
    return min(followInterval, max(touchDelay, state.reconcilesAt - monotonicNanoseconds()))
  }

  /// Returns the work that may be done now, also that which may wait for a second.
  private static func due(_ state: State) -> UpkeepWork {
    var due = state.work
    let now = monotonicNanoseconds()
    if state.settlesAt > now { due.remove(.settle) }
    if state.reconcilesAt > now { due.remove(.reconcile) }
    if state.restsAt > now { due.remove(.rest) }
    return due
  }

  private func take(_ state: inout State) -> UpkeepWork {
    let due = Self.due(state)
    state.work.subtract(due)
    state.isBusy = true
    if due.contains(.reconcile) { state.isReconcilingAwaited = false }
    if due.contains(.settle) {
      state.settlesAt = .max
      settlesBefore.store(.max, ordering: .relaxed)
    }
    return due
  }

  var isStopping: Bool { state.wait { $0.isStopping } }

  /// Makes the thread stop, and does not wait for it.
  func end() { state.change { $0.isStopping = true } }

  /// Makes the thread stop, and waits until it has stopped.
  func stop() {
    state.change { state in
      state.isStopping = true
      // It keeps the upkeep itself, too.
      state.perform = nil
    }
    state.wait { $0.isRunning && !$0.isOwnThread ? nil : () }
  }

  /// Waits until there is no more work, except for access times that are not due yet.
  ///
  /// - Parameter nanoseconds: the longest wait.
  func waitUntilIdle(nanoseconds: Int64 = .max) {
    state.wait(nanoseconds: nanoseconds) { state -> Void? in
      (Self.due(state).subtracting(.touches).isEmpty && !state.isBusy) || !state.isRunning
        || state.isOwnThread ? () : nil
    }
  }
}

extension Evictor {
  /// Does the work of the background thread.
  func perform(_ work: UpkeepWork) {
    if work.isEmpty { reader.follow() }
    if work.contains(.setAside) { recovery.setDamagedAside() }
    if work.contains(.evict) {
      accessTimes.waitForTouches()
      while !upkeep.isStopping && evictStep() {}
      compactor.tendJournal()
    }
    // What could not be appended is tried again.
    if work.contains(.touches), (try? accessTimes.flush()) == nil { upkeep.request(.touches) }
    if work.contains(.reconcile) {
      let begin = monotonicNanoseconds()
      let isCompleted = recovery.reconcile()
      let isUrgent = reader.state.withLock { !$0.isComplete || $0.endedUncleanly }
      upkeep.endReconciling(isCompleted, begin: begin, isUrgent: isUrgent)
      upkeep.requestRest()
    }
    // Recovered entries and their records count for the limits.
    if !work.isDisjoint(with: [.setAside, .reconcile]) { keepLimits() }
    // What could not be deleted is tried again.
    let sweepsAgain = !work.isDisjoint(with: [.rest, .evict, .reconcile])
    if work.contains(.sweep)
      || sweepsAgain && tree.staging.hasUnswept.load(ordering: .relaxed)
    {
      let end = reader.state.withLock { $0.journal.sequence }
      tree.staging.sweep(upTo: end) { !upkeep.isStopping }
    }
    if work.contains(.compact) { compactor.compact() }
    if work.contains(.settle) {
      let (next, failure) = compactor.settler.settleStep()
      if let failure { events.send(.notSettled(failure)) }
      if let next { upkeep.requestSettling(after: next) }
      compactor.tendJournal()
      // If nothing else is appended from now on, one look is enough.
      if next == nil { _ = writer.rest() }
    }
    if !work.isDisjoint(with: [.sweep, .compact, .settle]) { events.send(.maintained) }
    if work.contains(.rest), !writer.rest() { upkeep.requestRest() }
    // What could not be removed takes room that no limit counts.
    if tree.staging.isUnclean { upkeep.requestReconcilingInTurn() }
  }
}
