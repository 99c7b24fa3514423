internal import CLibrary
internal import CPlatform

/// A mutex with a condition: threads wait until a state that they share has changed.
///
/// `Synchronization.Mutex` cannot wait; this class is for the few places that have to. Waits use a
/// monotonic clock, so a change of the wall clock neither shortens nor prolongs them.
@safe
package final class Monitor<State>: @unchecked Sendable {
  // Unchecked: `state` is accessed only while the mutex is held.
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init(_ state: sending State) {
    self.state = state
    // Safety: pthread objects must not move, so they live on the heap until deinit.
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe condition.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      unsafe pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      unsafe pthread_condattr_init(&attributes)
      unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      unsafe pthread_cond_init(condition, &attributes)
      unsafe pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Takes the mutex. Debug builds check that the thread holds no other ``LockOrder/inner`` lock.
  private func lock() -> Int32 {
    #if DEBUG
      let outer = LockOrder.inner.enter()
    #else
      let outer: Int32 = 0
    #endif
    unsafe pthread_mutex_lock(mutex)
    return outer
  }

  private func unlock(_ outer: Int32) {
    unsafe pthread_mutex_unlock(mutex)
    #if DEBUG
      LockOrder.leave(to: outer)
    #endif
  }

  /// Changes the state and wakes all threads that wait.
  package func change<R>(_ body: (inout State) -> R) -> R {
    let outer = lock()
    defer {
      unsafe pthread_cond_broadcast(condition)
      unlock(outer)
    }
    return body(&state)
  }

  /// Changes the state and wakes one of the threads that wait, all of which can take up the change.
  func changeForOne<R>(_ body: (inout State) -> R) -> R {
    let outer = lock()
    defer {
      unsafe pthread_cond_signal(condition)
      unlock(outer)
    }
    return body(&state)
  }

  package func wait<R>(until body: (inout State) -> R?) -> R {
    let outer = lock()
    defer { unlock(outer) }
    while true {
      if let result = body(&state) { return result }
      unsafe pthread_cond_wait(condition, mutex)
    }
  }

  /// Waits until `body` returns a value; returns `nil` if that takes longer than about
  /// `nanoseconds`.
  package func wait<R>(nanoseconds: Int64, until body: (inout State) -> R?) -> R? {
    let (sum, isTooLarge) = monotonicNanoseconds().addingReportingOverflow(nanoseconds)
    let end = isTooLarge ? .max : sum
    let outer = lock()
    defer { unlock(outer) }
    while true {
      if let result = body(&state) { return result }
      if !waitForChange(until: end) { return body(&state) }
    }
  }

  /// Waits for a change until a time of ``monotonicNanoseconds()``; returns false if there was
  /// none.
  private func waitForChange(until end: Int64) -> Bool {
    #if canImport(Darwin)
      var rest = timespec(nanoseconds: max(0, end - monotonicNanoseconds()))
      return unsafe pthread_cond_timedwait_relative_np(condition, mutex, &rest) == 0
    #else
      var deadline = timespec(nanoseconds: end)
      return unsafe pthread_cond_timedwait(condition, mutex, &deadline) == 0
    #endif
  }
}

/// Returns the time of the monotonic clock in nanoseconds (clock_gettime(2), CLOCK_MONOTONIC).
package func monotonicNanoseconds() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Returns the processor time of this thread in nanoseconds (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID).
package func threadNanoseconds() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension timespec {
  fileprivate init(nanoseconds: Int64) {
    self.init(
      tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// Runs `body` on a new thread with a stack of 1 MiB.
///
/// - Throws: EAGAIN if the system cannot create another thread.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
  // Safety: the box is retained here and released by the thread that consumes it.
  let box = unsafe Unmanaged.passRetained(ThreadBody(body))
  let error = unsafe cp_start_thread(
    { context in
      guard let context = unsafe context else { return }
      unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    }, box.toOpaque())
  if error != 0 {
    unsafe box.release()
    throw SystemError(-error)
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Blocks all signals on this thread permanently; they are delivered to other threads. For threads
/// that use TLS libraries, which write to closed sockets without MSG_NOSIGNAL, and SIGPIPE would end
/// the process.
package func blockSignals() {
  var all = sigset_t()
  // Safety: the set is a local; the mask is this thread's.
  unsafe sigfillset(&all)
  unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
}

/// Returns a number that no other running thread of the process has.
package func threadNumber() -> UInt64 { cp_thread_number() }

/// Sleeps for about `nanoseconds`.
package func pause(nanoseconds: Int64) {
  _ = Monitor(()).wait(nanoseconds: nanoseconds) { _ -> Void? in nil }
}
