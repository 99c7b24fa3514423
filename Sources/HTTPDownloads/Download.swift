import CacheSystem
import HTTPSemantics
import HTTPTransports

/// A download that was started.
///
/// It runs whether or not anybody waits for it. Safe to use from many tasks at once.
public final class Download: Sendable {
  /// The request; of several callers with the same download, that of the first.
  public let request: DownloadRequest

  private struct State {
    var progress = DownloadProgress()
    var rate = RateMeter()
    var lastTold: ContinuousClock.Instant?
    /// The number of callers that have not cancelled.
    var askers = 1
    var isPaused = false
    /// The number of pauses. A pause may end before the work has seen it.
    var pauses = 0
    /// Cancels the present step, to pause or end the download.
    var cancelStep: (@Sendable () -> Void)?
    var whenResumed: CheckedContinuation<Void, Never>?
  }

  private static let interval = Duration.milliseconds(100)

  private let state = Lock(State())
  private let listeners = Broadcast<DownloadProgress>()
  private let result = Promise<Result<DownloadedFile, DownloadError>>()

  init(_ request: DownloadRequest) {
    self.request = request
  }

  /// Waits for the file.
  ///
  /// Cancelling the task that waits does not end the download; ``cancel()`` does.
  ///
  /// - Throws: ``DownloadError``.
  public func value() async throws(DownloadError) -> DownloadedFile {
    guard let result = await result.value() else { throw error(.cancelled) }
    return try result.get()
  }

  /// The present progress.
  public var progress: DownloadProgress { state.withLock { $0.progress } }

  /// The progress, now and at each change, at most ten times a second, until the download is over.
  /// A slow reader misses some values, but never the last one.
  public var updates: AsyncStream<DownloadProgress> { listeners.stream { progress } }

  /// Stops the transfer until ``resume()``, and keeps its bytes.
  public func pause() {
    let cancelStep = state.withLock { state in
      state.isPaused = true
      state.pauses += 1
      return state.cancelStep
    }
    if let cancelStep { callOut(cancelStep) }
  }

  /// Resumes the transfer after ``pause()``.
  public func resume() {
    let waiter = state.withLock { state in
      state.isPaused = false
      return state.whenResumed.take()
    }
    if let waiter { callOut { waiter.resume() } }
  }

  /// Ends the download and keeps its bytes for a later call. If several callers have asked for it,
  /// it ends when all of them have cancelled.
  public func cancel() { _ = leave() }

  /// Ends the download for all callers, and waits until its files are closed, also in a task that is
  /// cancelled.
  func end() async {
    _ = leave(all: true)
    _ = await Task { await result.value() }.value
  }

  /// Cancels for one caller, or all. Returns whether it was the last, so that the download ends.
  func leave(all: Bool = false) -> Bool {
    let (isLast, cancelStep, waiter) = state.withLock {
      state -> (Bool, (@Sendable () -> Void)?, CheckedContinuation<Void, Never>?) in
      state.askers = all ? 0 : state.askers - 1
      guard state.askers <= 0 else { return (false, nil, nil) }
      return (true, state.cancelStep, state.whenResumed.take())
    }
    if let cancelStep { callOut(cancelStep) }
    if let waiter { callOut { waiter.resume() } }
    return isLast
  }
}

// For the run of the download.
extension Download {
  /// Adds a caller; returns false if all callers have cancelled.
  func join() -> Bool {
    state.withLock { state in
      guard state.askers > 0 else { return false }
      state.askers += 1
      return true
    }
  }

  var askerCount: Int { state.withLock { $0.askers } }

  var isCancelled: Bool { askerCount <= 0 }

  var isStopped: Bool { state.withLock { $0.isPaused || $0.askers <= 0 } }

  /// Runs a step of the work in a task that is cancelled when the download is paused or cancelled.
  ///
  /// - Returns: the result, and whether the step was cancelled.
  func run<R: Sendable>(
    _ work: @escaping @Sendable () async -> R
  ) async -> (result: R, isStopped: Bool) {
    let step = Task { await work() }
    let (isStopped, pauses) = state.withLock { state in
      state.cancelStep = { step.cancel() }
      return (state.isPaused || state.askers <= 0, state.pauses)
    }
    if isStopped { callOut { step.cancel() } }
    let result = await step.value
    // The closure, and the step with all that it holds, is dropped after the lock is released.
    let (_, wasStopped) = state.withLock { state in
      (state.cancelStep.take(), isStopped || state.pauses != pauses || state.askers <= 0)
    }
    return (result, wasStopped)
  }

  /// Waits while the download is paused.
  ///
  /// - Throws: `cancelled`.
  func waitWhilePaused() async throws(DownloadError) {
    while state.withLock({ $0.isPaused && $0.askers > 0 }) {
      tell { $0.phase = .paused }
      await withCheckedContinuation { continuation in
        let isNow = state.withLock { state in
          guard state.isPaused, state.askers > 0 else { return true }
          state.whenResumed = continuation
          return false
        }
        if isNow { callOut { continuation.resume() } }
      }
    }
    if isCancelled { throw error(.cancelled) }
  }

  func tell(_ change: (inout DownloadProgress) -> Void) {
    state.withLock { state in
      let before = state.progress.phase
      change(&state.progress)
      if state.progress.phase != before {
        state.rate.restart()
        state.progress.bytesPerSecond = nil
      }
      state.lastTold = .now
    }
    listeners.tell { progress }
  }

  /// Records the number of bytes that are there, and reports it from time to time.
  func note(_ received: UInt64, at now: ContinuousClock.Instant = .now) {
    let isTold = state.withLock { state in
      state.progress.received = received
      if let rate = state.rate.note(received, at: now) { state.progress.bytesPerSecond = rate }
      if let last = state.lastTold, now - last < Self.interval { return false }
      state.lastTold = now
      return true
    }
    if isTold { listeners.tell { progress } }
  }

  func settle(_ outcome: Result<DownloadedFile, DownloadError>) {
    tell { progress in
      switch outcome {
      case .success(let file):
        progress.phase = .finished
        progress.received = file.record.length ?? progress.received
        progress.total = progress.received
        if file.source != .network { progress.resumed = progress.received }
      case .failure(let error): progress.phase = .failed(error)
      }
    }
    result.settle(outcome)
    listeners.finish { progress }
  }

  func error(_ cause: DownloadError.Cause) -> DownloadError {
    DownloadError(cause, url: request.request.url.string, path: request.file)
  }
}
