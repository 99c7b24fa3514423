import CLibrary
import CacheSystem
import Synchronization

struct SharedSlice: Sendable {
  /// Nanoseconds of every operation of every thread.
  var operations: [UInt64] = []
  var start = UInt64.max
  var end: UInt64 = 0
  var error: (any Error)?

  /// Nanoseconds from the first start to the last end.
  var wall: UInt64 { end > start ? end - start : 0 }
}

/// Runs one slice per handle, each on a thread of its own; all start at the same moment.
func runSideBySide(
  _ operation: Operation, _ handles: [any CacheUnderTest], on slices: [ArraySlice<EntryID>],
  of corpus: Corpus
) throws -> SharedSlice {
  let collector = SliceCollector(expected: handles.count)
  let running = Monitor(handles.count)
  for (handle, slice) in zip(handles, slices) {
    // Safety: the handle is lent to the thread, which is waited for below, and not touched meanwhile.
    nonisolated(unsafe) let handle = handle
    try startThread {
      unsafe collector.run(operation, handle, on: slice, of: corpus)
      running.change { $0 -= 1 }
    }
  }
  running.wait { $0 == 0 ? () : nil }
  let result = collector.result
  if let error = result.error { throw error }
  return result
}

private final class SliceCollector: Sendable {
  private let arrived = Atomic<Int>(0)
  private let expected: Int
  private let state = Mutex(SharedSlice())

  init(expected: Int) {
    self.expected = expected
  }

  var result: SharedSlice { state.withLock { $0 } }

  func run(
    _ operation: Operation, _ handle: any CacheUnderTest, on slice: ArraySlice<EntryID>,
    of corpus: Corpus
  ) {
    var series = Series()
    var start: UInt64 = 0
    do {
      try handle.run(operation, on: slice, of: corpus, into: &series) {
        waitForOthers()
        start = MonotonicClock.now()
      }
      add(series, start: start, error: nil)
    } catch {
      // The others must not wait for a thread that failed before the start.
      if start == 0 { arrived.add(1, ordering: .releasing) }
      add(series, start: start, error: error)
    }
  }

  private func add(_ series: Series, start: UInt64, error: (any Error)?) {
    let end = MonotonicClock.now()
    state.withLock { state in
      state.operations += series.operations
      state.start = min(state.start, start)
      state.end = max(state.end, end)
      state.error = state.error ?? error
    }
  }

  private func waitForOthers() {
    arrived.add(1, ordering: .releasing)
    while arrived.load(ordering: .acquiring) < expected { sched_yield() }
  }
}
