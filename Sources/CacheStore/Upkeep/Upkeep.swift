internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The kinds of work of the upkeep.
enum UpkeepWork: Sendable {
  /// Write the access times to the journal.
  case touches
  /// Evict down to the low-water mark.
  case evict
  /// Remove dead records from the journal.
  case compact
  /// Compare tree and journal, after a crash or if the journal is damaged.
  case reconcile
  /// Delete the directories that were moved into staging.
  case sweep
  /// Set damaged entries aside.
  case setAside
  /// Write the files of entries that are in the log.
  case settle
  /// End the session, if nothing is changed any more.
  case rest
}

/// The background thread of a store. It is started when there is work, and sleeps when there is
/// none, for a minute at most.
final class Upkeep: Sendable {
  struct State: Sendable {
    /// The work that was requested, with the times by the monotonic clock from which it is done.
    var dueAt: [UpkeepWork: Int64] = [:]
    var damaged: [Slot] = []
    /// The time before which access times are not written again.
    var touchesFrom: Int64 = 0
    /// Whether a thread waits for a comparison that has not begun yet, so that it is not put off.
    var isReconcilingAwaited = false
    /// The time before which no comparison is done that is not urgent.
    var comparesInTurnAt: Int64 = 0
    /// The wait before the next attempt that fails.
    var reconcilePause = Upkeep.firstPause
    /// Does the work; `nil` while the store is being opened, and after it was closed.
    var perform: (@Sendable (Set<UpkeepWork>) -> Void)?
    var isRunning = false
    var isBusy = false
    var isStopping = false
    var thread: UInt64 = 0
    /// Whether the thread itself asks. It cannot wait for itself: the last reference to the store may be
    /// released on it, in a delegate for example.
    var isOwnThread: Bool { isRunning && thread == threadNumber() }

    /// The time from which something is done.
    var earliest: Int64 { dueAt.values.min() ?? .max }

    /// Requests work from a time on. A request that is already there for an earlier time stays.
    mutating func request(_ work: UpkeepWork, at time: Int64) {
      dueAt[work] = min(dueAt[work] ?? .max, time)
    }
  }

  let state = Monitor(State())
  /// The time from which entries are settled, for threads that have not locked the state.
  private let settlesBefore = Atomic(Int64.max)

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
  func begin(_ perform: @escaping @Sendable (Set<UpkeepWork>) -> Void) {
    plan { $0.perform = perform }
  }

  /// Changes what is to be done, and starts the thread if it is not running and the store is open.
  private func plan(_ change: (inout State) -> Void) {
    if isIdle { return }
    let starts = state.change { state -> Bool in
      if state.isStopping { return false }
      change(&state)
      if state.isRunning || state.perform == nil || state.dueAt.isEmpty { return false }
      state.isRunning = true
      return true
    }
    if starts { start() }
  }

  /// Requests work at once.
  func request(_ work: UpkeepWork) {
    plan { state in
      // What fails may ask for a comparison, too: so while attempts fail, the next one is not at once.
      let hasFailed = work == .reconcile && state.reconcilePause > Self.firstPause
      state.request(work, at: hasFailed ? monotonicNanoseconds() + Self.firstPause : 0)
    }
  }

  /// Requests that access times are written to the journal: a second after the last ones.
  func requestTouches() { plan { $0.request(.touches, at: $0.touchesFrom) } }

  /// Requests a comparison of tree and journal that is not urgent. It takes a tenth of the time at most.
  func requestReconcilingInTurn() {
    plan { $0.dueAt[.reconcile] = $0.dueAt[.reconcile] ?? $0.comparesInTurnAt }
  }

  /// Requests a comparison of tree and journal, at once also if attempts have failed.
  func requestReconciling() {
    plan { state in
      state.dueAt[.reconcile] = 0
      state.isReconcilingAwaited = true
    }
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
        state.dueAt[.reconcile] =
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
    plan { $0.request(.settle, at: time) }
  }

  /// Leaves what is not settled to the next request.
  func putOffSettling() {
    state.change { state in
      state.dueAt[.settle] = nil
      settlesBefore.store(.max, ordering: .relaxed)
    }
  }

  /// Requests that the store rests when it is not changed for a while.
  func requestRest() {
    plan { $0.dueAt[.rest] = monotonicNanoseconds() + Self.restDelay }
  }

  /// Requests that a damaged entry is set aside.
  func setAside(_ slot: Slot) {
    plan { state in
      if state.damaged.count < Self.maximumDamaged { state.damaged.append(slot) }
      state.request(.setAside, at: 0)
    }
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
        state.change { state in
          state.thread = threadNumber()
          state.touchesFrom = monotonicNanoseconds() + PendingTouches.delayNanoseconds
        }
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
    case work(Set<UpkeepWork>)
    /// Wait, until another time.
    case wait
  }

  /// Waits for work, and returns it; `nil` if the store is being closed.
  private func next() -> Set<UpkeepWork>? {
    let end = monotonicNanoseconds() + Self.followInterval
    while true {
      let time = min(end, state.wait { $0.earliest })
      let turn = state.wait(nanoseconds: time - monotonicNanoseconds()) { state -> Turn? in
        if state.isStopping { return .stop }
        let work = takeDue(&state)
        if !work.isEmpty { return .work(work) }
        return state.earliest < time ? .wait : nil
      }
      switch turn {
      case .stop: return nil
      case .work(let work): return work
      case .wait: continue
      case nil: if monotonicNanoseconds() >= end { return [] }
      }
    }
  }

  private func takeDue(_ state: inout State) -> Set<UpkeepWork> {
    let now = monotonicNanoseconds()
    var due = Set(state.dueAt.filter { $0.value <= now }.keys)
    if due.isEmpty { return due }
    // What takes longer than others wait for access times begins with these.
    if state.dueAt[.touches] != nil, due != [.settle] { due.insert(.touches) }
    if due.contains(.touches) { state.touchesFrom = now + PendingTouches.delayNanoseconds }
    for work in due { state.dueAt[work] = nil }
    state.isBusy = true
    if due.contains(.reconcile) { state.isReconcilingAwaited = false }
    if due.contains(.settle) { settlesBefore.store(.max, ordering: .relaxed) }
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

  /// Waits until no work is due.
  ///
  /// - Parameter nanoseconds: the longest wait.
  func waitUntilIdle(nanoseconds: Int64 = .max) {
    state.wait(nanoseconds: nanoseconds) { state -> Void? in
      (state.earliest > monotonicNanoseconds() && !state.isBusy) || !state.isRunning
        || state.isOwnThread ? () : nil
    }
  }
}

extension Evictor {
  /// Does the work of the background thread.
  func perform(_ work: Set<UpkeepWork>) {
    if work.isEmpty { reader.follow() }
    if work.contains(.setAside) { recovery.setDamagedAside() }
    if work.contains(.evict) {
      accessTimes.waitForTouches()
      while !upkeep.isStopping && evictStep() {}
      compactor.tendJournal()
    }
    // What could not be appended is tried again.
    if work.contains(.touches), (try? accessTimes.flush()) == nil { upkeep.requestTouches() }
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
