#if canImport(Darwin)
  /// The run loop of the thread on which a URLProtocol must call its client.
  final class LoadingQueue: Sendable {
    // Safety: `perform` of a run loop may be called from any thread.
    private nonisolated(unsafe) let loop: RunLoop
    private let modes: [RunLoop.Mode]

    /// Uses the run loop of the caller, which may run in a mode of its own.
    init?() {
      unsafe loop = RunLoop.current
      modes = [.default, .common] + [RunLoop.current.currentMode].compactMap(\.self)
    }

    func run(_ work: @escaping @Sendable () -> Void) {
      unsafe loop.perform(inModes: modes, block: work)
      CFRunLoopWakeUp(unsafe loop.getCFRunLoop())
    }
  }
#else
  import CLoadingQueue

  /// The dispatch queue on which a URLProtocol must call its client. On any other queue that would
  /// be a data race.
  @safe
  final class LoadingQueue: @unchecked Sendable {
    // Unchecked: queues may be used from any thread, and the pointer never changes.
    private let queue: UnsafeMutableRawPointer

    /// Uses the queue of the caller. Returns `nil` if the caller is not on a queue.
    init?() {
      guard let queue = unsafe clq_retain_current() else { return nil }
      unsafe self.queue = queue
    }

    deinit { unsafe clq_release(queue) }

    func run(_ work: @escaping @Sendable () -> Void) {
      // Safety: the box is retained here and released by the one call that the queue makes.
      let box = unsafe Unmanaged.passRetained(Work(work))
      unsafe clq_async(queue, box.toOpaque()) { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
      }
    }
  }

  private final class Work: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
#endif
