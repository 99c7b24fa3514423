import CacheSystem

/// Holds the present state and those who read its changes.
final class StateBoard: Sendable {
  private struct Content {
    var state: NetworkState
    /// Whether readers may have the state; not before the first verdict of a probe.
    var isSettled: Bool
    var isFinished = false
  }

  private let content: Lock<Content>
  private let readers = Broadcast<NetworkState>()

  /// - Parameter isSettled: tells that the state is more than a guess.
  init(_ state: NetworkState, isSettled: Bool = true) {
    content = Lock(Content(state: state, isSettled: isSettled))
  }

  var current: NetworkState { content.withLock { $0.state } }

  /// Counts those who read.
  var readerCount: Int { readers.readerCount }

  func changes() -> AsyncStream<NetworkState> { readers.stream { settled } }

  /// Takes the system's word as long as no probe has given a verdict.
  func guess(_ state: NetworkState) {
    content.withLock { if !$0.isSettled { $0.state = state } }
  }

  /// Says a state to all who read, unless they have it already.
  func publish(_ state: NetworkState) {
    let isNew = content.withLock { content in
      guard !content.isFinished, !content.isSettled || content.state != state else { return false }
      content.state = state
      content.isSettled = true
      return true
    }
    if isNew { readers.tell { settled } }
  }

  /// Ends all sequences; what comes later is not told.
  func finish() {
    content.withLock { $0.isFinished = true }
    readers.finish { settled }
  }

  /// The state, once readers may have it.
  private var settled: NetworkState? {
    content.withLock { $0.isSettled ? $0.state : nil }
  }
}
