import Synchronization

/// Holds the present state and those who read its changes.
final class StateBoard: Sendable {
  private struct Content {
    var state: NetworkState
    /// Whether readers may have the state; not before the first verdict of a probe.
    var isSettled: Bool
    var isFinished = false
    var nextReader = 0
    var readers: [Int: AsyncStream<NetworkState>.Continuation] = [:]
  }

  private let content: Mutex<Content>

  /// - Parameter isSettled: tells that the state is more than a guess.
  init(_ state: NetworkState, isSettled: Bool = true) {
    content = Mutex(Content(state: state, isSettled: isSettled))
  }

  var current: NetworkState { content.withLock { $0.state } }

  /// Counts those who read.
  var readerCount: Int { content.withLock { $0.readers.count } }

  func changes() -> AsyncStream<NetworkState> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: NetworkState.self, bufferingPolicy: .bufferingNewest(1))
    let number: Int? = content.withLock { content in
      if content.isSettled { continuation.yield(content.state) }
      if content.isFinished { return nil }
      content.nextReader += 1
      content.readers[content.nextReader] = continuation
      return content.nextReader
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      // Released outside of the lock: what goes with it may call anything.
      let reader = content.withLock { $0.readers.removeValue(forKey: number) }
      _ = reader
    }
    return stream
  }

  /// Takes the system's word as long as no probe has given a verdict.
  func guess(_ state: NetworkState) {
    content.withLock { if !$0.isSettled { $0.state = state } }
  }

  /// Says a state to all who read, unless they have it already.
  func publish(_ state: NetworkState) {
    content.withLock { content in
      guard !content.isFinished, !content.isSettled || content.state != state else { return }
      content.state = state
      content.isSettled = true
      // Within the lock, so that two states never change places.
      for reader in content.readers.values { reader.yield(state) }
    }
  }

  /// Ends all sequences; what comes later is not told.
  func finish() {
    let readers = content.withLock { content in
      content.isFinished = true
      defer { content.readers = [:] }
      return content.readers
    }
    for reader in readers.values { reader.finish() }
  }
}
