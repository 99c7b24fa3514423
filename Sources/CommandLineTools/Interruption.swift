import CLibrary
internal import CacheSystem
import Synchronization

/// The error of work that a signal ended early.
package struct Interrupted: Error, Hashable {
  package var signal: Int32

  package init(signal: Int32) { self.signal = signal }
}

/// Turns Ctrl-C and similar signals into a request that the running work can check.
///
/// The signal handler only writes a byte to a pipe. A thread reads it and calls the handlers.
/// Blocking the signals and waiting for them would be simpler, but the main thread of an async
/// program on Linux waits in libdispatch's `sigsuspend`, which unblocks all signals. Long work
/// calls ``check()`` between its pieces; asynchronous work is cancelled. Work that has not ended
/// after some seconds, or before a second signal, is ended by force, which a store survives like a
/// crash.
package enum Interruption {
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  private struct State {
    var signal: Int32?
    var end: ExitStatus?
    var handlers: [@Sendable () -> Void] = []
    var replacement: (@Sendable (Int32) -> Void)?
  }

  private static let state = Mutex(State())

  /// Installs the signal handlers; must be called only once, before the work begins.
  ///
  /// SIGPIPE and SIGXFSZ are ignored, so that a write to a closed pipe, or beyond the file size
  /// limit, returns an error. A signal that the parent process set to be ignored, as `nohup` does,
  /// stays ignored.
  ///
  /// - Parameters:
  ///   - statuses: The exit statuses of a process that is ended by force.
  ///   - patience: The seconds after which it is.
  package static func watch(statuses: FailureStatuses = .usual, patience: Int = 2) {
    _ = signal(SIGPIPE, SIG_IGN)
    // A write beyond the file size limit (RLIMIT_FSIZE) then fails with EFBIG, like other errors.
    _ = signal(SIGXFSZ, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    // Safety: pipe writes two descriptors into the array of two.
    guard unsafe pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wakeUp.store(ends[1], ordering: .releasing)
    let descriptor = ends[0]
    let thread: Void? = try? startThread { waitForSignals(descriptor, statuses, patience) }
    guard thread != nil else { return }
    for number in signals where isSame(signal(number, noteSignal), SIG_IGN) {
      _ = signal(number, SIG_IGN)
    }
  }

  package static var requested: Int32? { state.withLock { $0.signal } }

  package static func check() throws(Interrupted) {
    if let signal = requested { throw Interrupted(signal: signal) }
  }

  /// Calls a closure when the end is requested; at once if it has been requested already.
  package static func onRequest(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.handlers.append(handler)
      return state.signal != nil
    }
    if isLate { handler() }
  }

  /// Runs work in a task that is cancelled when the end is requested.
  ///
  /// - Returns: The result of the task. The caller reports what the work has reached, and then calls
  ///   ``check()``.
  package static func cancelling<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async -> Result<Value, any Error> {
    let task = Task { try await work() }
    onRequest { task.cancel() }
    return await task.result
  }

  /// Calls a function for each signal from now on, instead of ending the process.
  ///
  /// SIGHUP is caught even if the parent process set it to be ignored, because it asks for
  /// something else then.
  package static func handleSignals(_ handler: @escaping @Sendable (Int32) -> Void) {
    state.withLock { $0.replacement = handler }
    _ = signal(SIGHUP, noteSignal)
  }

  /// Notes that the work is done, and only tidying up is left: a process that is ended by force then has
  /// this status.
  package static func finish(_ status: ExitStatus) { state.withLock { $0.end = status } }

  private static func request(_ number: Int32) {
    let handlers = state.withLock { state in
      state.signal = number
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Returns whether two dispositions are the same address.
  private static func isSame(_ left: Disposition?, _ right: Disposition?) -> Bool {
    // Safety: the pointers are compared as numbers, never called.
    unsafe unsafeBitCast(left, to: Int.self) == unsafeBitCast(right, to: Int.self)
  }

  /// Waits for the first signal that nothing else handles, stores the request, and ends the process
  /// if it has not ended in time.
  private static func waitForSignals(
    _ descriptor: Int32, _ statuses: FailureStatuses, _ patience: Int
  ) {
    var number: UInt8 = 0
    var replacement: (@Sendable (Int32) -> Void)?
    repeat {
      // Safety: read writes at most one byte into the local.
      while unsafe read(descriptor, &number, 1) != 1 { if errno != EINTR { return } }
      replacement = state.withLock { $0.replacement }
      replacement?(Int32(number))
    } while replacement != nil
    request(Int32(number))
    Poll.isReady(descriptor, for: POLLIN, milliseconds: Int32(patience * 1000))
    let status = state.withLock { $0.end } ?? statuses.signal(Int32(number))
    _exit(Int32(status.rawValue))
  }
}

private typealias Disposition = @convention(c) (Int32) -> Void

/// The descriptor that the handler writes to. The initial value is constant, so the handler never
/// runs an initialiser.
private let wakeUp = Atomic<Int32>(-1)

/// Handles a signal, using only functions that are allowed in a handler (signal-safety(7)).
private func noteSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  // Safety: write reads one byte of the local.
  _ = unsafe write(wakeUp.load(ordering: .acquiring), &byte, 1)
  errno = saved
}
