#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps signals from a thread on which libcurl works: TLS libraries write to closed sockets without
/// MSG_NOSIGNAL, and SIGPIPE would end the process.
enum ThreadSignals {
  /// Blocks all signals on this thread, for good; other signals are for other threads.
  static func blockAll() {
    var all = sigset_t()
    // Safety: the set is a local; the mask is this thread's.
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// Runs the body with SIGPIPE blocked on this thread, and takes back one that came meanwhile.
  static func withoutBrokenPipe(_ body: () -> Void) {
    var pipe = sigset_t()
    var before = sigset_t()
    // Safety, for all calls: the sets are locals, and the mask is this thread's.
    unsafe sigemptyset(&pipe)
    unsafe sigaddset(&pipe, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    body()
    // Where it was blocked before, it may be somebody else's, and does no harm.
    guard unsafe sigismember(&before, SIGPIPE) == 0, isBrokenPipePending else { return }
    var signal: CInt = 0
    unsafe sigwait(&pipe, &signal)
  }

  private static var isBrokenPipePending: Bool {
    var pending = sigset_t()
    // Safety: the set is a local.
    return unsafe sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1
  }
}
