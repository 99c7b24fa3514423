import CacheSystem
import Foundation
import HTTPTransports
import Synchronization

/// Suspends and resumes a task of URLSession as its reader wants, and cancels it.
///
/// The task is called under the mutex, so that a suspension and a resumption that come at the same
/// time do not change places. It calls nothing back: delegates run on another queue.
final class TaskPace: Sendable {
  private let task: URLSessionTask
  private let isSuspended = Mutex(false)
  /// The file that takes the place of a download task once that has ended.
  private let file = Mutex<FilePump?>(nil)

  init(_ task: URLSessionTask) { self.task = task }

  /// Sets the file of a download task; `nil` at its end.
  func setFile(_ pump: FilePump?) { file.withLock { $0 = pump } }

  /// Suspends the task if its reader is behind. Not on Linux, where a task that is resumed starts
  /// again from its first byte.
  func pause(_ transfer: Transfer) {
    #if canImport(Darwin)
      if file.withLock({ $0 != nil }) { return }
      isSuspended.withLock { isSuspended in
        guard transfer.isPaused, !isSuspended else { return }
        isSuspended = true
        task.suspend()
      }
    #endif
  }

  func carryOut(_ wish: Transfer.Request) {
    switch wish {
    case .resumeReceiving:
      if let file = file.withLock({ $0 }) { return file.run() }
      isSuspended.withLock { isSuspended in
        if isSuspended { task.resume() }
        isSuspended = false
      }
    case .resumeSending: break
    case .remove: cancel()
    }
  }

  func cancel() {
    setFile(nil)
    // Not on this thread: on Linux that waits for a queue that may be waiting for this thread.
    DispatchQueue.global().async { [task] in task.cancel() }
  }
}
