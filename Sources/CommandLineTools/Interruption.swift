import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tells that the user, or the system, asked the tool to end.
package struct Interrupted: Error, Hashable {
  /// The signal that asked.
  package var signal: Int32

  /// Creates the error.
  package init(signal: Int32) { self.signal = signal }
}

/// Turns Ctrl-C and its kin into a request that work can notice.
///
/// The signal handler does nothing but write a byte to a pipe; a thread reads it and tells everyone.
/// To block the signals and wait for them would be simpler, but the main thread of an async program
/// sits in libdispatch's `sigsuspend` on Linux, which unblocks them all. Long work calls ``check()``
/// between its pieces, asynchronous work is cancelled. What does not end within some seconds, or
/// until the second Ctrl-C, is ended by force, which a store survives as it survives a crash.
package enum Interruption {
  /// The signals that ask a tool to end.
  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  private struct State {
    var signal: Int32?
    var statuses = FailureStatuses()
    var patience: Int32 = 2
    var handlers: [@Sendable () -> Void] = []
  }

  private static let state = Mutex(State())

  /// Begins to watch; to be called once, before the work begins.
  ///
  /// SIGPIPE and SIGXFSZ are ignored, so that a write to a closed pipe, or beyond what is allowed, returns
  /// an error. A signal that the parent told us to ignore, as `nohup` does, stays ignored.
  ///
  /// - Parameters:
  ///   - statuses: what the process ends with when it is ended by force.
  ///   - patience: after how many seconds it is.
  package static func watch(statuses: FailureStatuses = FailureStatuses(), patience: Int = 2) {
    state.withLock { state in
      state.statuses = statuses
      state.patience = Int32(min(max(patience, 0), 3600))
    }
    _ = signal(SIGPIPE, SIG_IGN)
    // A file that would get longer than is allowed (RLIMIT_FSIZE) is an error like others, EFBIG.
    _ = signal(SIGXFSZ, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    // Safety: pipe writes two descriptors into the array of two.
    guard unsafe pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wakeUp.store(ends[1], ordering: .releasing)
    startThread(reading: ends[0])
    for number in signals where isSame(signal(number, noteSignal), SIG_IGN) {
      _ = signal(number, SIG_IGN)
    }
  }

  /// The signal that asked to end, or nil.
  package static var requested: Int32? { state.withLock { $0.signal } }

  /// Throws when the tool was asked to end.
  ///
  /// - Throws: ``Interrupted``.
  package static func check() throws(Interrupted) {
    if let signal = requested { throw Interrupted(signal: signal) }
  }

  /// Runs a closure when the tool is asked to end, at once if it was already.
  package static func onRequest(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.handlers.append(handler)
      return state.signal != nil
    }
    if isLate { handler() }
  }

  /// Notes the request and tells everyone.
  private static func request(_ number: Int32) {
    let handlers = state.withLock { state in
      state.signal = number
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Compares two dispositions, which are numbers in disguise.
  private static func isSame(_ left: Disposition?, _ right: Disposition?) -> Bool {
    // Safety: the pointers are compared as numbers, never called.
    unsafe unsafeBitCast(left, to: Int.self) == unsafeBitCast(right, to: Int.self)
  }

  /// Starts the thread that waits; it lives as long as the process.
  private static func startThread(reading descriptor: Int32) {
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let context = unsafe UnsafeMutableRawPointer(bitPattern: Int(descriptor))
    // Safety: the context is the descriptor, never followed; the handle is not used again.
    unsafe pthread_create(
      &thread, nil,
      { context in
        Interruption.waitForSignal(Int32(Int(bitPattern: context)))
        return nil
      }, context)
  }

  /// Waits for the first signal, passes it on, and ends the process if nobody else does.
  private static func waitForSignal(_ descriptor: Int32) {
    var number: UInt8 = 0
    // Safety: read writes at most one byte into the local.
    while unsafe read(descriptor, &number, 1) != 1 { if errno != EINTR { return } }
    request(Int32(number))
    let (statuses, patience) = state.withLock { ($0.statuses, $0.patience) }
    var second = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Safety: poll reads and writes the one pollfd that is passed.
    _ = unsafe poll(&second, 1, patience * 1000)
    _exit(Int32(statuses.signal(Int32(number)).rawValue))
  }
}

/// What a signal does.
private typealias Disposition = @convention(c) (Int32) -> Void

/// Where the handler writes; a constant initial value, so the handler never runs an initialiser.
private let wakeUp = Atomic<Int32>(-1)

/// Handles a signal, with what is allowed in a handler (signal-safety(7)).
private func noteSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  // Safety: write reads one byte of the local.
  _ = unsafe write(wakeUp.load(ordering: .acquiring), &byte, 1)
  errno = saved
}
