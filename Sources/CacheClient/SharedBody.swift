import CacheSystem
import MessageDigests
import Synchronization

/// Stores a body while it arrives from the network, and gives it to any number of readers.
///
/// The fastest reader decides when more is requested. A slower one reads what is kept: in memory up
/// to ``ResponseCache/smallBody``, then in the file that the store will use. So memory is bounded,
/// and no reader waits for a slower one. If all readers leave before the end, the transfer ends and
/// nothing is stored. A stored beginning (``StoringPlan/prefix``) comes before what the network sends.
///
/// Once the store has failed, nothing can be kept: then all readers go at the pace of the slowest.
final class SharedBody: Sendable {
  enum Kept: Sendable {
    case memory([UInt8])
    case file(BodyWriter)
  }

  enum End: Sendable {
    case open
    case complete
    case failed(ClientError)
  }

  struct State {
    /// The number of bytes that readers can have.
    var received: UInt64 = 0
    /// All bytes before the last piece.
    var kept = Kept.memory([])
    /// The last piece, and its offset.
    var last: (offset: UInt64, piece: [UInt8]) = (0, [])
    /// Whether the store still takes the bytes.
    var isKept = true
    var end = End.open
    var storing = StoringState.pending
    /// The readers that have not left, by number.
    var readers: Set<UInt64> = []
    var nextReader: UInt64 = 0
    /// The readers that have read everything so far.
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var pump: CheckedContinuation<Void, Never>?

    mutating func take(_ piece: [UInt8]) {
      last = (received, piece)
      received += UInt64(piece.count)
    }

    /// Whether it is time to request more from the network, or to stop.
    var mayPump: Bool {
      guard case .open = end else { return true }
      return isKept ? !waiters.isEmpty : waiters.count == readers.count
    }

    /// Returns the continuation of the task that moves the body, if it is time to resume it.
    mutating func takePump() -> CheckedContinuation<Void, Never>? {
      guard mayPump else { return nil }
      defer { pump = nil }
      return pump
    }
  }

  /// The length that the head states; `nil` if it is unknown.
  let length: UInt64?
  let plan: StoringPlan
  private let cache: ResponseCache
  let store: AsyncStore
  let url: String
  let body: any PieceSource
  let state = Lock(State())
  private let permit: StoringPermit
  private let clock: any WallClock
  private let onStored: @Sendable (EntryInfo) -> Void
  /// Computes the SHA-256 of a body that machines may share.
  private let digest: Mutex<MessageDigest?>
  let coding: Mutex<CodingCheck?>

  init(
    _ body: any TransportBody, plan: StoringPlan, permit: StoringPermit, cache: ResponseCache,
    store: AsyncStore, clock: any WallClock, length: UInt64?, url: String, isDigested: Bool,
    onStored: @escaping @Sendable (EntryInfo) -> Void
  ) {
    digest = Mutex(isDigested ? MessageDigest(.sha256) : nil)
    coding = Mutex(CodingCheck(plan))
    self.onStored = onStored
    let rest = TransportSource(body, url: url)
    self.body = plan.prefix.map { JoinedSource([$0.source(store, url: url), rest]) } ?? rest
    self.permit = permit
    self.clock = clock
    self.plan = plan
    self.cache = cache
    self.store = store
    self.length = length
    self.url = url
  }

  var storing: StoringState { state.withLock { $0.storing } }

  var cancelled: ClientError { ClientError(.cancelled, url: url) }

  /// Adds a reader, which begins with the first byte; `nil` if the first bytes are not available
  /// any more.
  func makeReader() -> SharedReader? {
    let number = state.withLock { state -> UInt64? in
      if case .failed = state.end { return nil }
      guard state.isKept || state.received == 0 else { return nil }
      state.nextReader += 1
      state.readers.insert(state.nextReader)
      return state.nextReader
    }
    return number.map { SharedReader(self, number: $0) }
  }

  /// Removes a reader. If it is the last one before the end, the transfer ends.
  func leave(_ number: UInt64) {
    let (waiter, pump, isOver) = state.withLock { state in
      let isReader = state.readers.remove(number) != nil
      let waiter = state.waiters.removeValue(forKey: number)
      var isOver = false
      if isReader, state.readers.isEmpty, case .open = state.end {
        // From here on no reader can join the cancelled body.
        state.end = .failed(cancelled)
        isOver = true
      }
      return (waiter, state.takePump(), isOver)
    }
    callOut {
      if isOver { body.cancel() }
      waiter?.resume()
      pump?.resume()
    }
  }

  /// Moves the body from the network to the readers and into the store, at the pace of the fastest
  /// reader.
  ///
  /// - Parameter onEnd: Called before the readers see the end.
  func run(onEnd: () -> Void = {}) async {
    let (end, last) = await move()
    if case .failed = end { discard() }
    onEnd()
    wake { state in
      if let last { state.take(last) }
      state.end = end
    }
  }

  /// Moves the body up to its end, and stores it.
  ///
  /// - Returns: the end, and the last piece if the readers do not have it yet: a client that counts
  ///   bytes may send the next request at once, so the body is stored first.
  private func move() async -> (End, last: [UInt8]?) {
    do throws(ClientError) {
      while await isWanted() {
        guard let piece = try await body.next() else {
          if isShort { throw ClientError(.truncatedBody, url: url) }
          await commit()
          return (.complete, nil)
        }
        await keep(piece)
        guard state.withLock({ $0.received + UInt64(piece.count) }) == length else {
          wake { $0.take(piece) }
          continue
        }
        guard try await body.next() == nil else {
          throw ClientError(.protocolViolation, url: url, detail: "the body is too long")
        }
        await commit(pending: piece.count)
        return (.complete, piece)
      }
      return (.failed(cancelled), nil)
    } catch {
      body.cancel()
      return (.failed(error), nil)
    }
  }

  /// Waits until more is needed; false if there are no readers any more.
  private func isWanted() async -> Bool {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isNow = state.withLock { state in
        if state.mayPump { return true }
        state.pump = continuation
        return false
      }
      if isNow { callOut { continuation.resume() } }
    }
    return state.withLock { state in
      if case .open = state.end { true } else { false }
    }
  }

  /// Returns whether a combined body has another length than its parts stated.
  private var isShort: Bool {
    plan.prefix != nil && length != state.withLock { $0.received }
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { callOut { waiter.resume() } }
  }

  /// Removes what is stored of a body without an end.
  private func discard() {
    let kept = state.withLock { state in
      if case .pending = state.storing { state.storing = .notStored(.incomplete) }
      return state.kept
    }
    if case .file(let writer) = kept { writer.discard() }
  }
}

// Storing the body.
extension SharedBody {
  private enum Step: Sendable {
    case start([UInt8])
    case append(BodyWriter)
  }

  private func keep(_ piece: [UInt8]) async {
    digest.withLock { $0?.update(piece) }
    check(piece)
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

  /// Notes if a piece of coded content is damaged, or its end (`nil`) comes too early. The readers
  /// still get it.
  private func check(_ piece: [UInt8]?) {
    guard let damage = coding.withLock({ $0?.damage(in: piece) }) else { return }
    endChecks()
    state.withLock { state in
      if case .pending = state.storing { state.storing = .notStored(.damaged(damage)) }
    }
  }

  /// Ends what is computed for storing only, because the body will not be stored.
  private func endChecks() {
    coding.withLock { $0 = nil }
    digest.withLock { $0 = nil }
  }

  /// Returns the step for a piece; `nil` if there is nothing to do yet.
  private func step(for piece: [UInt8]) -> Step? {
    state.withLock { state in
      guard state.isKept else { return nil }
      switch state.kept {
      case .file(let writer): return .append(writer)
      case .memory(var bytes):
        // Without a second reference the array is not copied.
        state.kept = .memory([])
        bytes += piece
        state.kept = .memory(bytes)
        return bytes.count > ResponseCache.smallBody ? .start(bytes) : nil
      }
    }
  }

  private func startFile(_ bytes: [UInt8], _ store: Store) throws(StoreError) {
    let writer = try store.makeWriter(
      for: plan.key, variant: plan.variant, metadata: plan.metadata, length: length)
    try writer.write(bytes)
    state.withLock { $0.kept = .file(writer) }
  }

  /// Stops storing; the readers still get the body.
  private func fail(_ error: StoreError) {
    endChecks()
    state.withLock { state in
      state.isKept = false
      if case .pending = state.storing { state.storing = .notStored(.failed(error)) }
    }
  }

  /// - Parameter pending: the bytes that are kept, but not yet available to readers.
  private func commit(pending: Int = 0) async {
    check(nil)
    guard let kept = keptWhole(pending: pending) else { return }
    let plan = plan.with(sha256: digest.withLock { $0.take()?.finish() })
    do throws(StoreError) {
      let stored = try await store.perform { [self, plan] store throws(StoreError) in
        try permit.store(plan, cache, now: Timestamp(nanoseconds: clock.now())) {
          () throws(StoreError) in
          switch kept {
          case .memory(let bytes): try plan.store(bytes, in: store)
          case .file(let writer): try writer.commit(metadata: plan.metadata)
          }
        }
      }
      switch stored {
      case .success(let info):
        state.withLock { $0.storing = .stored(info) }
        callOut { onStored(info) }
      case .failure(let reason):
        if case .file(let writer) = kept { writer.discard() }
        state.withLock { $0.storing = .notStored(reason) }
      }
    } catch {
      state.withLock { $0.storing = .notStored(.failed(error)) }
    }
  }

  /// Returns the bytes to store; `nil` if they must not be stored.
  private func keptWhole(pending: Int) -> Kept? {
    state.withLock { state in
      if case .pending = state.storing {
        if let part = plan.response.contentRange,
          part.count != state.received + UInt64(pending)
        {
          // A part must have the stated length, or its bytes have other positions than stated.
          state.storing = .notStored(.incomplete)
        } else {
          return state.kept
        }
      }
      if case .file(let writer) = state.kept { writer.discard() }
      return nil
    }
  }
}
