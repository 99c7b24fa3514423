/// Tells any number of streams the newest of a series of values, in order.
///
/// No lock is held while a stream is told. One thread tells at a time; a value that comes meanwhile is left
/// to it, so that two values never change places. A stream that is slow misses all but the newest.
package final class Broadcast<Value: Sendable>: Sendable {
  fileprivate struct State {
    var readers: [Int: AsyncStream<Value>.Continuation] = [:]
    var nextReader = 0
    /// The readers that do not have the newest value.
    var untold: Set<Int> = []
    var isFinished = false
    var isTelling = false
  }

  private let state = Lock(State())

  /// Makes a broadcast without readers.
  package init() {}

  /// The number of streams that are read.
  package var readerCount: Int { state.withLock { $0.readers.count } }

  /// Makes a stream, which begins with the newest value.
  ///
  /// - Parameter newest: returns the newest value; nil if there is none to tell yet. Here and below it is
  ///   called with no lock held.
  package func stream(_ newest: () -> Value?) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    // Before it is known to anybody: it may be finished as soon as it is.
    continuation.onTermination = { [weak self] _ in self?.forget(number) }
    state.withLock { state in
      state.readers[number] = continuation
      state.untold.insert(number)
    }
    tellUntold(newest)
    return stream
  }

  /// Tells all streams that there is a new value.
  package func tell(_ newest: () -> Value?) {
    state.withLock { $0.untold = Set($0.readers.keys) }
    tellUntold(newest)
  }

  /// Ends all streams after the newest value, and those that are made later, too.
  package func finish(_ newest: () -> Value?) {
    state.withLock { $0.isFinished = true }
    tellUntold(newest)
  }

  private func tellUntold(_ newest: () -> Value?) {
    let isMine = state.withLock { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard isMine else { return }
    while let turn = state.withLock({ $0.nextTurn() }) {
      if turn.isLast {
        for reader in turn.readers { callOut { reader.finish() } }
      } else if let value = newest() {
        for reader in turn.readers { _ = callOut { reader.yield(value) } }
      }
    }
  }

  private func forget(_ number: Int) {
    let reader = state.withLock { $0.readers.removeValue(forKey: number) }
    // Released outside of the lock: what goes with it may call anything.
    _ = reader
  }
}

extension Broadcast.State {
  /// Returns whom to tell next, and whether they are to end; nil ends the telling.
  fileprivate mutating func nextTurn() -> (
    readers: [AsyncStream<Value>.Continuation], isLast: Bool
  )? {
    if !untold.isEmpty {
      defer { untold = [] }
      return (untold.compactMap { readers[$0] }, false)
    }
    if isFinished, !readers.isEmpty {
      defer { readers = [:] }
      return (Array(readers.values), true)
    }
    isTelling = false
    return nil
  }
}
