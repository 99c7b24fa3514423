/// Sends the newest of a series of values to any number of streams, in order.
///
/// No lock is held while a value is sent. Only one thread sends at a time. If another thread has a
/// new value meanwhile, the first thread sends it as well, so two values are never swapped. A slow
/// reader receives only the newest value, and none receives the same value twice in a row.
package final class Broadcast<Value: Sendable & Equatable>: Sendable {
  fileprivate struct Reader {
    let number: Int
    let stream: AsyncStream<Value>.Continuation
    /// The last value that was sent. A new reader may get it at the beginning, and then be told of it.
    var last: Value?
  }

  fileprivate struct State {
    var readers: [Int: Reader] = [:]
    var nextReader = 0
    /// The readers that do not have the newest value.
    var untold: Set<Int> = []
    var isFinished = false
    var isTelling = false
  }

  private let state = Lock(State())

  package init() {}

  package var readerCount: Int { state.withLock { $0.readers.count } }

  /// Creates a stream, which begins with the newest value.
  ///
  /// - Parameter newest: returns the newest value; `nil` if there is none yet. Like the closures of
  ///   the other methods, it is called while no lock is held.
  package func stream(_ newest: () -> Value?) -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    // Set before the stream is registered, because another thread may finish it as soon as it is.
    continuation.onTermination = { [weak self] _ in self?.forget(number) }
    state.withLock { state in
      state.readers[number] = Reader(number: number, stream: continuation)
      state.untold.insert(number)
    }
    tellUntold(newest)
    return stream
  }

  /// Sends the newest value to all streams.
  package func tell(_ newest: () -> Value?) {
    state.withLock { $0.untold = Set($0.readers.keys) }
    tellUntold(newest)
  }

  /// Ends all streams after the newest value. Streams that are created later end in the same way.
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
        for reader in turn.readers { callOut { reader.stream.finish() } }
      } else if let value = newest() {
        for reader in turn.readers where reader.last != value {
          state.withLock { $0.readers[reader.number]?.last = value }
          _ = callOut { reader.stream.yield(value) }
        }
      }
    }
  }

  private func forget(_ number: Int) {
    let reader = state.withLock { $0.readers.removeValue(forKey: number) }
    // Released outside the lock, because its deinitialisation may run any code.
    _ = reader
  }
}

extension Broadcast.State {
  /// Returns the readers to serve next, and whether their streams end; `nil` if there is nothing
  /// left to send.
  fileprivate mutating func nextTurn() -> (
    readers: [Broadcast.Reader], isLast: Bool
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
