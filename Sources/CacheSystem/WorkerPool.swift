/// Threads for blocking calls, so that these do not occupy threads of Swift's cooperative pool.
///
/// Threads are started when they are needed, up to a maximum, and end when the pool is destroyed.
package final class WorkerPool: Sendable {
  private struct State {
    /// The jobs from `next` on. The earlier elements are `nil`: jobs were taken out, so that no job
    /// is destroyed, with the objects it captures, while the lock is held.
    var jobs: [(@Sendable () -> Void)?] = []
    var next = 0
    var threads = 0
    var idle = 0
    var isStopping = false
  }

  private let state = Monitor(State())
  private let maximumThreads: Int

  /// Creates a pool with a maximum number of threads, at least one.
  package init(threads: Int) { maximumThreads = max(1, threads) }

  deinit { state.change { $0.isStopping = true } }

  /// Runs `job` on one of the threads, in the order of the calls.
  package func run(_ job: @escaping @Sendable () -> Void) {
    let starts = state.changeForOne { state -> Bool in
      state.jobs.append(job)
      let waiting = state.jobs.count - state.next
      guard state.idle < waiting, state.threads < maximumThreads else { return false }
      state.threads += 1
      return true
    }
    if starts { startWorker() }
  }

  private func startWorker() {
    let state = state
    do throws(SystemError) {
      try startThread {
        while let job = Self.next(state) { job() }
      }
    } catch {
      // No thread could be started. If the pool has no other thread, the caller's thread runs the
      // jobs.
      let isAlone = state.change { state -> Bool in
        state.threads -= 1
        return state.threads == 0
      }
      while isAlone, let job = Self.take(state) { job() }
    }
  }

  private static func next(_ state: Monitor<State>) -> (@Sendable () -> Void)? {
    var isIdle = false
    return state.wait { state -> (@Sendable () -> Void)?? in
      if let job = pop(&state) {
        if isIdle { state.idle -= 1 }
        return .some(job)
      }
      if !isIdle { state.idle += 1 }
      isIdle = true
      return state.isStopping ? .some(nil) : nil
    }
  }

  private static func take(_ state: Monitor<State>) -> (@Sendable () -> Void)? {
    state.change { pop(&$0) }
  }

  private static func pop(_ state: inout State) -> (@Sendable () -> Void)? {
    guard state.next < state.jobs.count else { return nil }
    let job = state.jobs[state.next].take()
    state.next += 1
    if state.next == state.jobs.count || state.next > 1024 {
      state.jobs.removeFirst(state.next)
      state.next = 0
    }
    return job
  }
}

// Runs the jobs of tasks (SE-0417), so that these may block.
extension WorkerPool: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    run { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Starts a task. It begins on the calling thread where the system can do that; after its first
  /// suspension it runs on the threads of the pool, and may block them.
  @discardableResult
  package func start(
    _ work: @escaping @Sendable @concurrent () async -> Void
  ) -> Task<Void, Never> {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return Task.immediate(executorPreference: self, operation: work)
    }
    return Task(executorPreference: self, operation: work)
  }
}

extension WorkerPool {
  /// Runs a blocking call and returns its result or throws its error.
  package func call<R: Sendable, E: Error>(
    _ body: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    let result = await withCheckedContinuation { continuation in
      run {
        let result = Result { () throws(E) in try body() }
        callOut { continuation.resume(returning: result) }
      }
    }
    return try result.get()
  }
}
