import CLibrary
import CacheSystem
import CommandLineTools
import Synchronization

/// The signals that control a server.
///
/// ``Interruption`` ends a command two seconds after the first signal. That is right for work that
/// can be repeated, but a server has to finish the responses to its clients. This type is used
/// instead: the first SIGTERM, SIGINT or SIGQUIT asks the server to stop, the second one ends the
/// process, and SIGHUP reopens the log.
struct ServeSignals: Sendable {
  /// The request that a signal makes.
  enum Event: Sendable {
    case stop, reopen
  }

  /// The requests, in the order of the signals.
  let events: AsyncStream<Event>

  private let more: AsyncStream<Event>.Continuation

  /// Makes the server stop as a signal does.
  func stop() { more.yield(.stop) }

  /// Installs the signal handlers; must be called only once.
  ///
  /// - Throws: ``ToolError`` if the system cannot create a pipe or a thread.
  init() throws {
    var ends: [Int32] = [-1, -1]
    // Safety: pipe writes two descriptors into the array of two.
    guard unsafe pipe(&ends) == 0 else { throw Self.error() }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    serveWakeUp.store(ends[1], ordering: .releasing)
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    self.events = events
    more = continuation
    let descriptor = ends[0]
    do throws(SystemError) {
      try startThread { Self.readSignals(descriptor, continuation) }
    } catch {
      throw Self.error()
    }
    for number in [SIGINT, SIGTERM, SIGQUIT] where Self.isIgnored(signal(number, noteServeSignal)) {
      // The parent process set it to be ignored, as shells do for background jobs.
      _ = signal(number, SIG_IGN)
    }
    _ = signal(SIGHUP, noteServeSignal)
  }

  /// Reads the bytes that the handler writes. Never returns.
  private static func readSignals(_ descriptor: Int32, _ events: AsyncStream<Event>.Continuation) {
    var isStopping = false
    while true {
      var number: UInt8 = 0
      // Safety: read writes at most one byte into the local.
      guard unsafe read(descriptor, &number, 1) == 1 else { continue }
      if Int32(number) == SIGHUP {
        events.yield(.reopen)
      } else if isStopping {
        _exit(128 + Int32(number))
      } else {
        isStopping = true
        events.yield(.stop)
      }
    }
  }

  /// Compares signal dispositions by their addresses.
  private static func isIgnored(_ disposition: (@convention(c) (Int32) -> Void)?) -> Bool {
    // Safety: the pointers are compared as numbers, never called.
    unsafe unsafeBitCast(disposition, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static func error() -> ToolError {
    ToolError(
      subject: "signals", problem: "cannot create a pipe or a thread",
      remedy: "check the limits of the system")
  }
}

/// The descriptor that the handler writes to. The initial value is constant, so the handler never
/// runs an initialiser.
private let serveWakeUp = Atomic<Int32>(-1)

/// Handles a signal, using only functions that are allowed in a handler (signal-safety(7)).
private func noteServeSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  // Safety: write reads one byte of the local.
  _ = unsafe write(serveWakeUp.load(ordering: .acquiring), &byte, 1)
  errno = saved
}
