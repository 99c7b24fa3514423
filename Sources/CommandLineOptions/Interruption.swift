import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tells that the user, or the system, asked the tool to end.
public struct Interrupted: Error, Hashable {
  /// The signal that asked.
  public var signal: Int32

  /// Creates the error.
  public init(signal: Int32) { self.signal = signal }
}

/// Turns Ctrl-C and its kin into a request that work can notice.
///
/// The signals are blocked in every thread, and one thread waits for them: no code runs in a signal
/// handler. Long work calls ``check()`` between its pieces, asynchronous work is cancelled. What does
/// not end within two seconds is ended by force, which a store survives as it survives a crash.
public enum Interruption {
  /// The signals that ask a tool to end.
  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  private struct State {
    var signal: Int32?
    var handlers: [@Sendable () -> Void] = []
  }

  private static let state = Mutex(State())

  /// Begins to watch; to be called first of all, before any other thread exists.
  ///
  /// SIGPIPE is ignored, so that a write to a closed pipe returns EPIPE. A signal that the parent
  /// told us to ignore, as `nohup` does, stays ignored.
  public static func watch() {
    _ = signal(SIGPIPE, SIG_IGN)
    var set = watchedSignals()
    // Safety: the set is a local that outlives the call.
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    startThread()
  }

  /// The signal that asked to end, or nil.
  public static var requested: Int32? { state.withLock { $0.signal } }

  /// Throws when the tool was asked to end.
  ///
  /// - Throws: ``Interrupted``.
  public static func check() throws(Interrupted) {
    if let signal = requested { throw Interrupted(signal: signal) }
  }

  /// Runs a closure when the tool is asked to end, at once if it was already.
  public static func onRequest(_ handler: @escaping @Sendable () -> Void) {
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

  /// Tells whether the parent had the signal ignored; sigaction(2).
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    // Safety: sigaction fills the local; the handler is compared as a number, never called.
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let handler = unsafe unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
    #else
      let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    #endif
    let ignored = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
    return handler == ignored
  }

  /// Returns the signals that are watched, as sigwait(3) takes them.
  private static func watchedSignals() -> sigset_t {
    var set = sigset_t()
    // Safety: the set is a local that outlives the calls.
    unsafe sigemptyset(&set)
    for number in signals where !isIgnored(number) { unsafe sigaddset(&set, number) }
    return set
  }

  /// Starts the thread that waits; it lives as long as the process.
  private static func startThread() {
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    // Safety: the entry point takes no context, and the handle is not used again.
    unsafe pthread_create(
      &thread, nil,
      { _ in
        Interruption.waitForSignal()
        return nil
      }, nil)
  }

  /// Waits for the first signal, passes it on, and ends the process if nobody else does.
  private static func waitForSignal() {
    var set = watchedSignals()
    var number: Int32 = 0
    // Safety: both locals outlive the call.
    guard unsafe sigwait(&set, &number) == 0 else { return }
    request(number)
    _ = poll(nil, 0, 2000)
    _exit(128 + number)
  }
}
