internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// What the upkeep of a store has to do.
struct UpkeepWork: OptionSet, Sendable {
  let rawValue: UInt8
  /// Write the access times to the journal; may wait a second.
  static let touches = UpkeepWork(rawValue: 1)
  /// Evict down to the low-water mark.
  static let evict = UpkeepWork(rawValue: 2)
  /// Drop what is dead in the journal.
  static let compact = UpkeepWork(rawValue: 4)
  /// Compare tree and journal after a crash or damage.
  static let reconcile = UpkeepWork(rawValue: 8)
  /// Delete what was moved into staging.
  static let sweep = UpkeepWork(rawValue: 16)
  /// Set damaged entries aside.
  static let setAside = UpkeepWork(rawValue: 32)
}

/// The one background thread of a store: started when there is work, asleep when there is none.
final class Upkeep: Sendable {
  private struct Owner: Sendable {
    weak var store: Store?
  }

  struct State: Sendable {
    var work: UpkeepWork = []
    var damaged: [Slot] = []
    var isRunning = false
    var isBusy = false
    var isStopping = false
    /// Somebody waits: what may be put off is done at once.
    var isHurried = false
    var thread: UInt64 = 0
  }

  let state = Monitor(State())

  /// How long access times stay in memory only, in nanoseconds.
  private static let touchDelay = PendingTouches.delayNanoseconds
  /// The most damaged entries that wait to be set aside; more are found again.
  private static let maximumDamaged = 1024

  /// Whether requests are ignored: for stores that are read only, and for a checker.
  private let isIdle: Bool
  /// The store, which may go away while the thread sleeps.
  private let owner = Mutex(Owner())

  init(_ options: Options) { isIdle = options.isReadOnly || options.isSupervised }

  /// Makes a store do the work.
  func attach(_ store: Store) { owner.withLock { $0.store = store } }

  /// Asks for work, and starts the thread if it does not run.
  func request(_ work: UpkeepWork) {
    if isIdle { return }
    let starts = state.change { state -> Bool in
      if state.isStopping { return false }
      state.work.formUnion(work)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if starts { start() }
  }

  /// Asks for a damaged entry to be set aside.
  func setAside(_ slot: Slot) {
    state.change { state in
      if state.damaged.count < Self.maximumDamaged { state.damaged.append(slot) }
    }
    request(.setAside)
  }

  private func start() {
    do throws(SystemError) {
      try startThread { [self] in
        state.change { $0.thread = threadNumber() }
        while let work = next() {
          // The store is held only while work is done.
          owner.withLock { $0.store }?.perform(work)
          state.change { $0.isBusy = false }
        }
        state.change { state in
          state.isRunning = false
          state.isBusy = false
        }
      }
    } catch {
      // There is no thread to be had now: the next request tries again.
      state.change { $0.isRunning = false }
    }
  }

  /// Waits for work; nil when the store is closed.
  private func next() -> UpkeepWork? {
    let urgent = state.wait(nanoseconds: Self.touchDelay) { state -> UpkeepWork?? in
      if state.isStopping { return .some(nil) }
      let due = state.isHurried ? state.work : state.work.subtracting(.touches)
      if due.isEmpty { return nil }
      return .some(Self.take(&state))
    }
    if let urgent { return urgent }
    return state.wait { state -> UpkeepWork?? in
      if state.isStopping { return .some(nil) }
      return state.work.isEmpty ? nil : .some(Self.take(&state))
    }
  }

  private static func take(_ state: inout State) -> UpkeepWork {
    defer {
      state.work = []
      state.isHurried = false
    }
    state.isBusy = true
    return state.work
  }

  var isStopping: Bool { state.wait { $0.isStopping } }

  /// Tells the thread to stop, and does not wait for it.
  func end() { state.change { $0.isStopping = true } }

  /// Stops the thread and waits until it has.
  func stop() {
    let own = state.change { state -> Bool in
      state.isStopping = true
      return state.isRunning && state.thread == threadNumber()
    }
    // The last reference to the store may go away on the thread itself.
    if own { return }
    state.wait { $0.isRunning ? nil : () }
  }

  /// Waits until nothing is left to do but to write access times, which may wait.
  ///
  /// - Parameter nanoseconds: the longest wait.
  func waitUntilIdle(nanoseconds: Int64 = .max) {
    state.change { $0.isHurried = !$0.work.isEmpty }
    func isIdle(_ state: inout State) -> Void? {
      (state.work.subtracting(.touches).isEmpty && !state.isBusy) || !state.isRunning ? () : nil
    }
    if nanoseconds == .max {
      state.wait(until: isIdle)
    } else {
      state.wait(nanoseconds: nanoseconds, until: isIdle)
    }
  }
}

extension Store {
  fileprivate func perform(_ work: UpkeepWork) {
    if work.contains(.setAside) { recovery.setDamagedAside() }
    if work.contains(.evict) {
      catalog.waitForTouches()
      while !upkeep.isStopping && evictor.evictStep() {}
      catalog.tendJournal()
    }
    if work.contains(.touches) { try? catalog.flush() }
    if work.contains(.reconcile) { recovery.reconcile() }
    // What was taken up from the tree counts, and so does what the journal says of it.
    if !work.isDisjoint(with: [.setAside, .reconcile]) { evictor.keepLimits() }
    if work.contains(.sweep) { catalog.tree.staging.sweep { !upkeep.isStopping } }
    if work.contains(.compact) { catalog.compact() }
  }
}
