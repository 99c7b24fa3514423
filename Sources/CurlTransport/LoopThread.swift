import CacheSystem

/// Starts a thread of its own for work that blocks.
enum LoopThread {
  /// Runs the body on a new, detached thread that takes no signals.
  ///
  /// - Returns: false if the system has no thread left; the body is then not run.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    do throws(SystemError) {
      try startThread {
        ThreadSignals.blockAll()
        body()
      }
      return true
    } catch {
      return false
    }
  }
}
