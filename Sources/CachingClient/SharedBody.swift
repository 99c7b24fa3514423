import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import HTTPTransport
import Synchronization

/// Stores a body while it comes from the network, and gives it to any number of readers.
///
/// The reader that is in front asks for more; one that lags behind reads what is kept: in memory up
/// to ``ResponseCache/smallBody``, then in the file that becomes the store's. So memory is bounded,
/// nobody waits for a slower reader, and who leaves takes nothing from the others. When nobody is
/// left before the end, the transfer ends and nothing is stored.
final class SharedBody: Sendable {
  enum Kept: Sendable {
    case memory([UInt8])
    case file(BodyWriter)
    /// Nothing: the store failed.
    case nothing
  }

  enum End: Sendable {
    case open
    case complete
    case failed(ClientError)
  }

  struct State {
    /// The bytes that readers can have.
    var received: UInt64 = 0
    var kept = Kept.memory([])
    /// The piece that came last, and its offset.
    var last: (offset: UInt64, piece: [UInt8]) = (0, [])
    var end = End.open
    var storing = StoringState.pending
    var readers = 0
    var isWanted = false
    var pump: CheckedContinuation<Void, Never>?
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextReader: UInt64 = 0
  }

  /// The length that the head promises; nil: not known.
  let length: UInt64?
  let plan: StoringPlan
  let store: AsyncStore
  let url: String
  let body: any TransportBody
  let state = Mutex(State())

  init(
    _ body: any TransportBody, _ plan: StoringPlan, _ store: AsyncStore, length: UInt64?,
    url: String
  ) {
    self.body = body
    self.plan = plan
    self.store = store
    self.length = length
    self.url = url
  }

  var storing: StoringState { state.withLock { $0.storing } }

  /// Keeps the body from being stored: something has made it invalid.
  func invalidate() {
    state.withLock { state in
      if case .pending = state.storing { state.storing = .notStored(.invalidated) }
    }
  }

  /// Adds a reader, which begins with the first byte; nil if the body is given up.
  func makeReader() -> SharedReader? {
    let number = state.withLock { state -> UInt64? in
      if case .failed = state.end { return nil }
      state.readers += 1
      state.nextReader += 1
      return state.nextReader
    }
    return number.map { SharedReader(self, number: $0) }
  }

  /// Moves the body from the network to the readers and into the store, as fast as they ask.
  func run() async {
    while await isWanted() {
      let piece: [UInt8]?
      do {
        piece = try await body.next()
      } catch {
        give(up: ClientError(.transport(error), url: url))
        return
      }
      guard let piece else {
        await commit()
        wake { $0.end = .complete }
        return
      }
      await keep(piece)
      wake { state in
        state.last = (state.received, piece)
        state.received += UInt64(piece.count)
      }
    }
    body.cancel()
    give(up: ClientError(.transport(TransportError(.cancelled, url: url)), url: url))
  }

  /// Waits until a reader asks for more; false when there is none left.
  private func isWanted() async -> Bool {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isNow = state.withLock { state in
        if state.isWanted || state.readers == 0 { return true }
        state.pump = continuation
        return false
      }
      if isNow { continuation.resume() }
    }
    return state.withLock { state in
      state.isWanted = false
      return state.readers > 0
    }
  }

  /// Changes the state and wakes all readers that wait.
  private func wake(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  private func give(up error: ClientError) {
    let kept = state.withLock { state in
      if case .pending = state.storing { state.storing = .notStored(.incomplete) }
      return state.kept
    }
    if case .file(let writer) = kept { writer.discard() }
    wake { $0.end = .failed(error) }
  }
}

// Keeping what comes.
extension SharedBody {
  /// What is to be done on the disk.
  private enum Step: Sendable {
    case start([UInt8])
    case append(BodyWriter)
  }

  private func keep(_ piece: [UInt8]) async {
    guard let step = step(for: piece) else { return }
    do throws(StoreError) {
      try await store.perform { [self] store throws(StoreError) in
        switch step {
        case .start(let bytes): try startFile(bytes, store)
        case .append(let writer): try writer.write(piece)
        }
      }
    } catch {
      fail(error)
    }
  }

  /// Returns what is to be done for a piece; nil: nothing yet.
  private func step(for piece: [UInt8]) -> Step? {
    state.withLock { state in
      switch state.kept {
      case .nothing: return nil
      case .file(let writer): return .append(writer)
      case .memory(var bytes):
        // Without a second reference nothing is copied.
        state.kept = .nothing
        bytes += piece
        state.kept = .memory(bytes)
        return bytes.count > ResponseCache.smallBody ? .start(bytes) : nil
      }
    }
  }

  private func startFile(_ bytes: [UInt8], _ store: Store) throws(StoreError) {
    let writer = try store.makeWriter(
      for: plan.key, variant: plan.variant, metadata: plan.metadata)
    try writer.write(bytes)
    state.withLock { $0.kept = .file(writer) }
  }

  /// The answer goes on, but is not stored; readers that lag behind cannot have it any more.
  private func fail(_ error: StoreError) {
    state.withLock { state in
      state.kept = .nothing
      if case .pending = state.storing { state.storing = .notStored(.failed(error)) }
    }
  }

  private func commit() async {
    let kept = state.withLock { state -> Kept in
      // A part must be as long as it says, or its bytes are not where they seem to be.
      if let part = plan.response.contentRange, part.count != state.received,
        case .pending = state.storing
      {
        state.storing = .notStored(.incomplete)
      }
      if case .pending = state.storing { return state.kept }
      if case .file(let writer) = state.kept { writer.discard() }
      return .nothing
    }
    do throws(StoreError) {
      let info = try await store.perform { [plan] store throws(StoreError) -> EntryInfo? in
        switch kept {
        case .memory(let bytes): try plan.store(bytes, in: store)
        case .file(let writer): try plan.commit(writer, in: store)
        case .nothing: nil
        }
      }
      if let info { state.withLock { $0.storing = .stored(info) } }
    } catch {
      state.withLock { $0.storing = .notStored(.failed(error)) }
    }
  }
}
