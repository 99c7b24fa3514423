internal import CPlatform
public import Synchronization

/// The order in which a thread may take locks, the outermost first. Docs/Architecture.md has the rule.
@usableFromInline
package enum LockOrder: Int32, Sendable {
  /// A list of things that have locks of their own: requests under way, downloads.
  case registry = 1
  /// A member of such a list.
  case member
  /// The state of a store.
  case store
  /// All others: no lock is taken while one of these is held.
  case inner

  /// Notes that the thread takes a lock, and traps if that is out of order.
  ///
  /// - Returns: the order of the lock that it holds already; 0: none.
  @usableFromInline
  func enter() -> Int32 {
    let outer = cp_set_lock_order(rawValue)
    precondition(outer < rawValue, "a lock is taken out of order; see Docs/Architecture.md, Locks")
    return outer
  }

  /// Notes that the thread has released a lock.
  @usableFromInline
  static func leave(to outer: Int32) { _ = cp_set_lock_order(outer) }

  /// Whether the thread holds a lock.
  @usableFromInline
  static var isHeld: Bool { cp_lock_order() != 0 }
}

/// A mutex whose holders call nothing of other parties: no continuation is resumed, no task cancelled, no
/// listener told. Those calls go through ``callOut(_:)``.
///
/// A debug build traps where that rule or the ``LockOrder`` is broken; a release build has the mutex alone.
@usableFromInline
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>
  #if DEBUG
    @usableFromInline let order: LockOrder
  #endif

  /// Makes a lock around a value.
  @inlinable
  package init(_ value: consuming sending Value, _ order: LockOrder = .inner) {
    mutex = Mutex(value)
    #if DEBUG
      self.order = order
    #endif
  }

  /// Calls the closure with the value while no other thread has it.
  ///
  /// - Throws: what the closure throws.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
      let outer = order.enter()
      defer { LockOrder.leave(to: outer) }
    #endif
    return try mutex.withLock(body)
  }
}

/// Calls code of another party: resumes a continuation, cancels a task, tells a delegate or listener.
///
/// A debug build traps if the thread holds a ``Lock`` or is in a ``Monitor``: what is called may wait for
/// that lock, in this thread or in another one.
@inlinable
package func callOut<Result>(_ call: () -> Result) -> Result {
  #if DEBUG
    precondition(!LockOrder.isHeld, "code of others is called with a lock held")
  #endif
  return call()
}
