import CacheSystem
import Synchronization

/// Holds back what a test wants to hold back, until it is opened.
package final class Gate: Sendable {
  private let opened = Mutex<(isOpen: Bool, then: [@Sendable () -> Void])>((false, []))

  package init() {}

  package func open() {
    let then = opened.withLock { state in
      defer { state = (true, []) }
      return state.then
    }
    for action in then { action() }
  }

  /// Calls when it is open; at once if it is.
  package func whenOpen(_ action: @escaping @Sendable () -> Void) {
    let isOpen = opened.withLock { state in
      if !state.isOpen { state.then.append(action) }
      return state.isOpen
    }
    if isOpen { action() }
  }

  /// Waits until it is open.
  ///
  /// - Returns: false if the task was cancelled first.
  package func pass() async -> Bool {
    let promise = Promise<Bool>()
    whenOpen { promise.settle(true) }
    return await promise.value() ?? false
  }
}
