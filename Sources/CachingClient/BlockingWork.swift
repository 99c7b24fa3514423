import Dispatch

/// Runs work that blocks on the disk on threads of its own, never on the cooperative pool.
enum BlockingWork {
  private static let queue = DispatchQueue(
    label: "offlinecache.client.blocking", attributes: .concurrent)

  /// Runs the work and returns its result; it is not cancelled with the task.
  static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: work()) }
    }
  }
}
