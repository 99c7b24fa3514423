import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Starts a thread of its own for work that blocks (pthread_create(3)).
enum LoopThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
    }
  }

  /// Runs the body on a new, detached thread that takes no signals.
  ///
  /// - Returns: false if the system has no thread left; the body is then not run.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = unsafe Unmanaged.passRetained(Work(body))
    // Safety: the context is the retained work; the new thread takes it over.
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let code = unsafe pthread_create(&thread, nil, LoopThread.main, work.toOpaque())
    guard code == 0 else {
      unsafe work.release()
      return false
    }
    #if canImport(Darwin)
      if let thread = unsafe thread { unsafe pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
    return true
  }

  #if canImport(Darwin)
    private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? =
      { context in
        LoopThread.runWork(unsafe context)
        return nil
      }
  #else
    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
      { context in
        if let context = unsafe context { unsafe LoopThread.runWork(context) }
        return nil
      }
  #endif

  private static func runWork(_ context: UnsafeMutableRawPointer) {
    blockSignals()
    // Safety: this is the work that `start` retained for this thread.
    let work = unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
    work.body()
  }

  /// Blocks all signals on this thread: TLS libraries write to closed sockets without
  /// MSG_NOSIGNAL, and SIGPIPE would end the process; other signals are for other threads.
  private static func blockSignals() {
    var all = sigset_t()
    // Safety: the set is a local; the mask is this thread's.
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }
}
