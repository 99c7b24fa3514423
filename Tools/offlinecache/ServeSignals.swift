import CLibrary
import CommandLineTools
import Synchronization

/// The signals that control a server.
///
/// ``Interruption`` ends a command two seconds after the first signal. That is right for work that
/// can be repeated, but a server has to finish the responses to its clients. So the first SIGTERM,
/// SIGINT or SIGQUIT asks it to stop, the second one ends the process, and SIGHUP reopens the log.
final class ServeSignals: Sendable {
  enum Event: Sendable {
    case stop, reopen
  }

  /// The requests, in the order of the signals.
  let events: AsyncStream<Event>

  private let more: AsyncStream<Event>.Continuation
  private let cleaning = Mutex<(@Sendable () -> Void)?>(nil)

  func stop() { more.yield(.stop) }

  /// Sets what is called before a second signal ends the process; `nil` for nothing.
  func beforeForcedEnd(_ clean: (@Sendable () -> Void)?) { cleaning.withLock { $0 = clean } }

  /// Handles the signals from now on.
  init() {
    let (events, more) = AsyncStream.makeStream(of: Event.self)
    (self.events, self.more) = (events, more)
    let isStopping = Atomic(false)
    Interruption.handleSignals { [self] number in
      if number == SIGHUP {
        more.yield(.reopen)
      } else if isStopping.exchange(true, ordering: .relaxed) {
        cleaning.withLock { $0 }?()
        _exit(128 + number)
      } else {
        more.yield(.stop)
      }
    }
  }
}
