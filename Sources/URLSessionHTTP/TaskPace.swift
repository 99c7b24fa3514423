import CacheSystem
import Foundation
import HTTPTransports
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Suspends and resumes a task of URLSession as its reader wants, and cancels it.
///
/// The task is called under the mutex, so that a suspension and a resumption that come at the same
/// time do not change places. It calls nothing back: delegates run on another queue.
final class TaskPace: Sendable {
  private let task: URLSessionTask
  private let isSuspended = Mutex(false)

  init(_ task: URLSessionTask) { self.task = task }

  /// Suspends the task if its reader is behind. Not on Linux, where a task that is resumed starts
  /// again from its first byte.
  func pause(_ transfer: Transfer) {
    #if canImport(Darwin)
      isSuspended.withLock { isSuspended in
        guard transfer.isPaused, !isSuspended else { return }
        isSuspended = true
        task.suspend()
      }
    #endif
  }

  /// Does what the reader asks for.
  func carryOut(_ wish: Transfer.Request) {
    switch wish {
    case .resumeReceiving:
      isSuspended.withLock { isSuspended in
        if isSuspended { task.resume() }
        isSuspended = false
      }
    case .resumeSending: break
    case .remove: cancel()
    }
  }

  /// Cancels the task; from any thread.
  func cancel() {
    // Not on this thread: on Linux that waits for a queue that may be waiting for this thread.
    DispatchQueue.global().async { [task] in task.cancel() }
  }
}
