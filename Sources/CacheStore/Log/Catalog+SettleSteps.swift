internal import CacheSystem
internal import Synchronization

// When entries are settled: by the upkeep in short steps, or all at once.
extension Catalog {
  /// The number of entries that only the log has.
  var unsettledEntries: Int {
    state.withLock { state in
      follow(&state)
      return state.index.totals.unsettledEntries
    }
  }

  /// Settles for 5 ms. One step of the upkeep.
  ///
  /// - Returns: the nanoseconds after which the next step is due; `nil` if everything is settled.
  func settleStep() -> (after: Int64?, failure: StoreError?) {
    let deadline = monotonicNanoseconds() + Self.sliceNanoseconds
    if !tree.staging.sweepReplaced(until: deadline) { return (0, nil) }
    let (count, isHalfUsed, isComplete) = state.withLock { state in
      follow(&state)
      return (
        state.index.totals.unsettledEntries,
        logBudget(state).isHalfUsed(state.journal.bodies.all), state.isComplete
      )
    }
    if count == 0 { return (nil, nil) }
    if !isComplete { return (Self.longPause, nil) }
    do throws(StoreError) {
      let end = try settle(
        olderThan: isHalfUsed ? .min : settlingDelay,
        until: deadline)
      switch end {
      case .done: return (nil, nil)
      case .interrupted: return (0, nil)
      case .young(let nanoseconds): return (max(nanoseconds, 1_000_000), nil)
      case .busy: return (Self.longPause, nil)
      }
    } catch {
      let failures = settling.withLock { progress in
        progress.failures += 1
        return progress.failures
      }
      return (min(Self.longPause << Int64(min(failures - 1, 10)), Self.longestPause), error)
    }
  }

  /// Settles everything that is in the log now.
  ///
  /// - Parameter nanoseconds: the longest time that it takes.
  /// - Returns: whether everything is settled.
  func settleAll(within nanoseconds: Int64 = .max) throws(StoreError) -> Bool {
    let begin = monotonicNanoseconds()
    let deadline = nanoseconds == .max ? .max : begin + nanoseconds
    tree.staging.sweepReplaced(until: deadline)
    while unsettledEntries > 0, try settle(until: deadline) == .busy,
      monotonicNanoseconds() < deadline
    {
      pause(nanoseconds: 5_000_000)
    }
    return unsettledEntries == 0
  }

  private static var sliceNanoseconds: Int64 { 5_000_000 }
  private static var longPause: Int64 { 1_000_000_000 }
  private static var longestPause: Int64 { 600_000_000_000 }
}
