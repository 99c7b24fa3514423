/// Calls a function after a second, unless the task is cancelled before.
package func afterASecond(_ call: @escaping @Sendable () -> Void) -> Task<Void, Never> {
  Task {
    do { try await Task.sleep(for: .seconds(1)) } catch { return }
    call()
  }
}

extension TransportBody {
  /// Discards the rest of a body: reads a short rest, so that the connection can be used again, and
  /// cancels the transfer after `limit` bytes, or after a second, because somebody waits.
  package func end(within limit: Int = 64 << 10) async {
    let timer = afterASecond { [self] in cancel() }
    defer { timer.cancel() }
    var count = 0
    while count < limit, let piece = try? await next() { count += piece.count }
    cancel()
  }
}
