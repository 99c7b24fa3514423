internal import CLibrary

#if !canImport(Glibc)
  public import Synchronization
#endif

/// A mutex without a value, for a lock that many threads want at once. A running thread may take it
/// before one that has waited longer.
///
/// With glibc it is a pthread mutex that spins for a short time. `Synchronization.Mutex` has a futex
/// with priority inheritance there, which hands a contended lock over to a sleeping thread, so each
/// operation costs a change of threads: two threads that look up entries were slower than one. On
/// Apple platforms `Mutex` does not hand over.
@safe @usableFromInline
package struct BargingMutex: ~Copyable, @unchecked Sendable {
  #if canImport(Glibc)
    // Unchecked: a pthread mutex may be used by all threads. It must not move, so it is on the heap.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  #else
    @usableFromInline let mutex = Mutex<Void>(())
  #endif

  package init() {
    #if canImport(Glibc)
      unsafe mutex = .allocate(capacity: 1)
      unsafe mutex.initialize(to: pthread_mutex_t())
      var attributes = pthread_mutexattr_t()
      unsafe pthread_mutexattr_init(&attributes)
      unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
      unsafe pthread_mutex_init(mutex, &attributes)
      unsafe pthread_mutexattr_destroy(&attributes)
    #endif
  }

  deinit {
    #if canImport(Glibc)
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    #endif
  }

  #if canImport(Glibc)
    @usableFromInline
    func enter() { unsafe pthread_mutex_lock(mutex) }

    @usableFromInline
    func leave() { unsafe pthread_mutex_unlock(mutex) }
  #endif

  /// Calls the closure; no other thread is in a closure under this mutex meanwhile.
  ///
  /// - Throws: the error of the closure.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if canImport(Glibc)
      enter()
      defer { leave() }
      return try body()
    #else
      return try mutex.withLock { _ throws(Failure) in try body() }
    #endif
  }
}
