import CacheSystem
package import HTTPSemantics

/// Connects one transfer with its one reader: the head, a bounded buffer, the end. The request's body
/// is handled by ``Upload``.
///
/// Both sides may call at any time. Each change is made under a mutex, and continuations are
/// resumed after it. Only the first end counts, so a transfer ends exactly once.
package final class Transfer: Sendable {
  package typealias Outcome<Value> = Result<Value, TransportError>
  package typealias Head = (head: HTTPResponseHead, version: String)

  fileprivate struct State {
    var head: Head?
    var buffer: [UInt8] = []
    var isPaused = false
    var end: Outcome<HTTPFields>?
    var headWaiter: CheckedContinuation<Outcome<Head>, Never>?
    var pieceWaiter: CheckedContinuation<Outcome<[UInt8]?>, Never>?
    var largestBuffer = 0
  }

  /// Requests to the transport, after an action of the reader or of the request's body.
  package enum Request: Sendable {
    case resumeReceiving
    case resumeSending
    case remove
  }

  package let request: HTTPRequest
  package let upload: Upload?
  package let options: TransportOptions
  /// The time at which the whole timeout expires, or `nil` if there is none.
  package let deadline: ContinuousClock.Instant?
  package let onInterim: @Sendable (HTTPResponseHead) -> Void
  /// The limit of the buffer at present, in bytes.
  private let capacity: @Sendable () -> Int
  private let ask: @Sendable (Transfer, Request) -> Void
  fileprivate let state = Lock(State())

  /// Creates a transfer. `ask` is called without a lock held, from any thread.
  package init(
    _ request: HTTPRequest, _ upload: Upload?, options: TransportOptions,
    capacity: @escaping @Sendable () -> Int,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void,
    ask: @escaping @Sendable (Transfer, Request) -> Void
  ) {
    self.request = request
    self.upload = upload
    self.options = options
    deadline = options.wholeTimeout.map { .now + $0 }
    self.capacity = capacity
    self.onInterim = onInterim
    self.ask = ask
  }

  /// The largest number of bytes that the buffer has had.
  package var largestBuffer: Int { state.withLock { $0.largestBuffer } }

  /// Whether the transport waits for the reader.
  package var isPaused: Bool { state.withLock { $0.isPaused } }

  package var hasHead: Bool { state.withLock { $0.head != nil } }

  package var hasEnded: Bool { state.withLock { $0.end != nil } }

  /// The trailers, once the body has been read to its end.
  package var trailers: HTTPFields {
    state.withLock { state in
      guard state.buffer.isEmpty, case .success(let trailers) = state.end else { return [] }
      return trailers
    }
  }
}

// The methods for the reader.
extension Transfer {
  package func head() async -> Outcome<Head> {
    if let ready = state.withLock({ $0.readyHead }) { return ready }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready: Outcome<Head>? = state.withLock { state in
          if let ready = state.readyHead { return ready }
          state.headWaiter = continuation
          return nil
        }
        if let ready { callOut { continuation.resume(returning: ready) } }
      }
    } onCancel: {
      cancel()
    }
  }

  package func next() async -> Outcome<[UInt8]?> {
    if let ready = state.withLock({ $0.takePiece() }) { return deliver(ready) }
    let waited = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready: State.Taken? = state.withLock { state in
          if let ready = state.takePiece() { return ready }
          precondition(state.pieceWaiter == nil, "a body has one reader, with one call at a time")
          state.pieceWaiter = continuation
          return nil
        }
        if let ready { callOut { continuation.resume(returning: deliver(ready)) } }
      }
    } onCancel: {
      cancel()
    }
    return waited
  }

  package func cancel() {
    if finish(.failure(error(.cancelled))) { ask(self, .remove) }
  }

  package func error(_ code: TransportError.Code, _ detail: String = "") -> TransportError {
    TransportError(code, url: request.url.string, detail: detail)
  }

  private func deliver(_ taken: State.Taken) -> Outcome<[UInt8]?> {
    if taken.wasPaused { ask(self, .resumeReceiving) }
    return taken.outcome
  }
}

// The methods for the transport.
extension Transfer {
  package func deliver(_ head: Head) {
    let waiter: CheckedContinuation<Outcome<Head>, Never>? = state.withLock { state in
      guard state.end == nil else { return nil }
      state.head = head
      return state.headWaiter.take()
    }
    if let waiter { callOut { waiter.resume(returning: .success(head)) } }
  }

  /// Asks the transport to read more of the request's body; from any thread.
  package func uploadIsReady() {
    ask(self, .resumeSending)
  }

  /// Appends bytes to the buffer.
  ///
  /// - Returns: `true` if `nextAtMost` more bytes might not fit. Then the transfer has to pause,
  ///   and the transport is asked to resume it once the reader has emptied the buffer.
  package func accept(_ bytes: UnsafeRawBufferPointer, nextAtMost: Int) -> Bool {
    // A waiting reader gets no empty piece.
    if unsafe bytes.isEmpty { return false }
    let capacity = capacity()
    let (isFull, delivery) = state.withLock { state -> (Bool, Delivery<[UInt8]?>?) in
      // After the end nobody reads; the transport is about to remove the transfer.
      guard state.end == nil else { return (false, nil) }
      // Safety: the caller's buffer is valid during this call; the bytes are copied.
      unsafe state.buffer.append(contentsOf: bytes)
      state.largestBuffer = max(state.largestBuffer, state.buffer.count)
      if let waiter = state.pieceWaiter.take(), let taken = state.takePiece() {
        return (false, Delivery(waiter: waiter, outcome: taken.outcome))
      }
      guard state.buffer.count + nextAtMost > capacity else { return (false, nil) }
      state.isPaused = true
      return (true, nil)
    }
    if let delivery { callOut { delivery.waiter.resume(returning: delivery.outcome) } }
    return isFull
  }

  /// Ends the transfer; returns `false` if it has ended before. A success without a head is a failure:
  /// the reader would wait for the head.
  @discardableResult
  package func finish(_ end: Outcome<HTTPFields>) -> Bool {
    let (isFirst, head, piece) = state.withLock { state in
      guard state.end == nil else {
        return (false, nil as Delivery<Head>?, nil as Delivery<[UInt8]?>?)
      }
      let isWrong = state.head == nil && (try? end.get()) != nil
      let end = isWrong ? .failure(error(.connectionLost, "there was no head")) : end
      state.end = end
      if case .failure(let error) = end, error.code == .cancelled { state.buffer = [] }
      var head: Delivery<Head>?
      if case .failure(let error) = end, let waiter = state.headWaiter.take() {
        head = Delivery(waiter: waiter, outcome: .failure(error))
      }
      guard let waiter = state.pieceWaiter.take(), let taken = state.takePiece() else {
        return (true, head, nil)
      }
      return (true, head, Delivery(waiter: waiter, outcome: taken.outcome))
    }
    if isFirst { upload?.stop() }
    if let head { callOut { head.waiter.resume(returning: head.outcome) } }
    if let piece { callOut { piece.waiter.resume(returning: piece.outcome) } }
    return isFirst
  }

  private struct Delivery<Value> {
    let waiter: CheckedContinuation<Outcome<Value>, Never>
    let outcome: Outcome<Value>
  }
}

extension Transfer.State {
  struct Taken {
    let outcome: Transfer.Outcome<[UInt8]?>
    let wasPaused: Bool
  }

  /// The head, or the failure before it; `nil` if the reader has to wait.
  var readyHead: Transfer.Outcome<Transfer.Head>? {
    if let head { return .success(head) }
    if case .failure(let error) = end { return .failure(error) }
    return nil
  }

  /// Removes and returns the whole buffer, or returns the end if the buffer is empty; returns `nil`
  /// if the reader has to wait.
  ///
  /// The whole buffer is one piece, so that a slow reader gets few large pieces.
  mutating func takePiece() -> Taken? {
    if !buffer.isEmpty {
      let piece = buffer
      buffer = []
      defer { isPaused = false }
      return Taken(outcome: .success(piece), wasPaused: isPaused && end == nil)
    }
    switch end {
    case .success: return Taken(outcome: .success(nil), wasPaused: false)
    case .failure(let error): return Taken(outcome: .failure(error), wasPaused: false)
    case nil: return nil
    }
  }
}

/// The body of one transfer. It ends the transfer when its reader releases it.
package final class TransferBody: TransportBody {
  package let transfer: Transfer
  /// Keeps the transport alive while the body is in use.
  private let transport: any HTTPTransport

  package init(_ transfer: Transfer, of transport: any HTTPTransport) {
    self.transfer = transfer
    self.transport = transport
  }

  deinit {
    transfer.cancel()
  }

  package var trailers: HTTPFields { transfer.trailers }

  /// Waits for the head, and returns the response with this body.
  package func response() async throws(TransportError) -> TransportResponse {
    let head = try await transfer.head().get()
    return TransportResponse(
      head: head.head, url: transfer.request.url, version: head.version, body: self)
  }

  package func next() async throws(TransportError) -> [UInt8]? {
    try await transfer.next().get()
  }

  package func cancel() {
    transfer.cancel()
  }
}
