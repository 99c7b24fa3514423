import CLibrary

/// Blocks signals on a thread that runs libcurl: TLS libraries write to closed sockets without
/// MSG_NOSIGNAL, and SIGPIPE would end the process.
enum ThreadSignals {
  /// Blocks all signals on this thread permanently. They are delivered to other threads.
  static func blockAll() {
    var all = sigset_t()
    // Safety: the set is a local; the mask is this thread's.
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }
}
