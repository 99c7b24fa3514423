import CacheSystem

final class StateBoard: Sendable {
  private struct Content {
    var state: NetworkState
    /// Whether readers may have the state. With a probe, they may not before its first verdict.
    var isSettled: Bool
    var isFinished = false
  }

  private let content: Lock<Content>
  private let readers = Broadcast<NetworkState>()

  /// - Parameter isSettled: Whether the state needs no confirmation by a probe.
  init(_ state: NetworkState, isSettled: Bool = true) {
    content = Lock(Content(state: state, isSettled: isSettled))
  }

  var current: NetworkState { content.withLock { $0.state } }

  var readerCount: Int { readers.readerCount }

  func changes() -> AsyncStream<NetworkState> { readers.stream { settled } }

  /// Sets the state of the system, unless a probe has given a verdict already.
  func guess(_ state: NetworkState) {
    content.withLock { if !$0.isSettled { $0.state = state } }
  }

  /// Sets the state and passes it to all readers, unless they have it already.
  func publish(_ state: NetworkState) {
    let isNew = content.withLock { content in
      guard !content.isFinished, !content.isSettled || content.state != state else { return false }
      content.state = state
      content.isSettled = true
      return true
    }
    if isNew { readers.tell { settled } }
  }

  /// Ends all sequences. Later states are not passed on.
  func finish() {
    content.withLock { $0.isFinished = true }
    readers.finish { settled }
  }

  /// The state, once readers may have it.
  private var settled: NetworkState? {
    content.withLock { $0.isSettled ? $0.state : nil }
  }
}
