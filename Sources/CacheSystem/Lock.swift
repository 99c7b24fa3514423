internal import CPlatform

#if !canImport(Glibc)
  public import Synchronization
#endif

/// The order in which a thread may take locks, the outermost first. The rule is in
/// Docs/Architecture.md.
@usableFromInline
package enum LockOrder: Int32, Sendable {
  /// A list of objects that have locks of their own: requests under way, downloads.
  case registry = 1
  /// A member of such a list.
  case member
  /// A shard of a store: a lock between processes, which is held while its files are written.
  case shard
  /// The state of a store.
  case store
  /// All others: no lock is taken while one of these is held.
  case inner

  /// Records that the thread takes a lock. Traps if that violates the order.
  ///
  /// - Returns: the order of the lock that the thread already holds; 0 if there is none.
  @usableFromInline
  package func enter() -> Int32 {
    let outer = cp_set_lock_order(rawValue)
    precondition(outer < rawValue, "a lock is taken out of order; see Docs/Architecture.md, Locks")
    return outer
  }

  /// Records that the thread has released a lock.
  @usableFromInline
  package static func leave(to outer: Int32) { _ = cp_set_lock_order(outer) }

  /// Whether the thread holds a lock.
  @usableFromInline
  static var isHeld: Bool { cp_lock_order() != 0 }
}

/// A mutex under which no code of other parties may run: no continuation is resumed, no task
/// cancelled, no listener called. Those calls go through ``callOut(_:)``.
///
/// A debug build traps if that rule or the ``LockOrder`` is violated. A release build has only the
/// mutex.
@safe @usableFromInline
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  #if canImport(Glibc)
    // Unchecked: the value is accessed only by the holder of the mutex. It is on the heap, because
    // a struct that is not copyable has no cell of its own.
    @usableFromInline let value: UnsafeMutablePointer<Value>
    @usableFromInline let mutex = BargingMutex()
  #else
    @usableFromInline let mutex: Mutex<Value>
  #endif
  #if DEBUG
    @usableFromInline let order: LockOrder
  #endif

  @inlinable
  package init(_ value: consuming sending Value, _ order: LockOrder = .inner) {
    #if canImport(Glibc)
      unsafe self.value = .allocate(capacity: 1)
      unsafe self.value.initialize(to: value)
    #else
      mutex = Mutex(value)
    #endif
    #if DEBUG
      self.order = order
    #endif
  }

  #if canImport(Glibc)
    deinit {
      unsafe value.deinitialize(count: 1)
      unsafe value.deallocate()
    }
  #endif

  /// Calls the closure with the value; no other thread can access the value meanwhile.
  ///
  /// - Throws: the error of the closure.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
      let outer = order.enter()
      defer { LockOrder.leave(to: outer) }
    #endif
    #if canImport(Glibc)
      mutex.enter()
      defer { mutex.leave() }
      // Safety: the pointer is valid as long as the lock, and only this thread uses it now.
      return unsafe try body(&value.pointee)
    #else
      return try mutex.withLock(body)
    #endif
  }
}

/// Calls code of another party: resumes a continuation, cancels a task, calls a delegate or
/// listener.
///
/// A debug build traps if the thread holds a ``Lock`` or the mutex of a ``Monitor``, because the
/// called code may wait for that lock, in this thread or in another one.
@inlinable
package func callOut<Result>(_ call: () -> Result) -> Result {
  #if DEBUG
    precondition(!LockOrder.isHeld, "code of others is called with a lock held")
  #endif
  return call()
}
