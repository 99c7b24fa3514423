import CacheSystem
package import HTTPSemantics

/// Passes a request's body from its source to a transport, which asks for it.
///
/// One piece is held, or the whole body if it is small. The next piece is requested when the last byte
/// has been taken.
package final class Upload: Sendable {
  package enum Read: Equatable {
    /// A number of bytes, at least one.
    case bytes(Int)
    /// No bytes yet; the closure is called once there are more.
    case wait
    case end
    case failed(String)
  }

  /// The way in which the end of the body is indicated to the server.
  package enum Framing: Equatable {
    case length(UInt64)
    case chunked
  }

  private struct State {
    /// The last piece, or all pieces so far if the body is held.
    var piece: [UInt8] = []
    var position = 0
    var source: (any RequestBodySource)?
    /// The bytes of the stated length that the source has not provided yet.
    var remaining: UInt64?
    var pull: Task<Void, Never>?
    var hasStarted = false
    var failure: String?
    var isStopped = false
    /// Whether no bytes are sent until the server has given its consent.
    var awaitsContinue: Bool
    var patience: Task<Void, Never>?
    var whenReady: (@Sendable () -> Void)?
  }

  /// The time after which a body is sent without the server's consent.
  private static let continueTimeout = Duration.seconds(1)

  /// The length up to which a streamed body is held until the transfer has ended.
  package static let heldBytes: UInt64 = 64 * 1024

  package let framing: Framing
  /// Whether the body is held, so that it can be read again.
  package let isHeld: Bool
  private let state: Lock<State>

  /// Creates an upload. One that waits for the server's consent (`Expect: 100-continue`) starts
  /// without it after a time, because servers may not know the expectation (RFC 9110, section
  /// 10.1.1).
  ///
  /// - Parameter mayRepeat: Whether a streamed body may be sent again, so that a short one is held.
  package init(_ body: RequestBody, awaitsContinue: Bool = false, mayRepeat: Bool = true) {
    switch body {
    case .bytes(let bytes):
      framing = .length(UInt64(bytes.count))
      isHeld = true
      state = Lock(State(piece: bytes, awaitsContinue: awaitsContinue))
    case .stream(let length, let source):
      framing = length.map(Framing.length) ?? .chunked
      isHeld = mayRepeat && length.map { $0 <= Self.heldBytes } ?? false
      state = Lock(State(source: source, remaining: length, awaitsContinue: awaitsContinue))
    }
  }

  /// Copies the next bytes to the transport, or returns the reason why there are none. After
  /// ``Read/wait``, `whenReady` is called once, from any thread.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void
  ) -> Read {
    // After `swap`, the closure that is replaced. It is dropped after the lock is released.
    var closure = Optional(whenReady)
    return state.withLock { state in
      // A transport may ask once more although the server needs no more bytes.
      guard !state.isStopped else { return .wait }
      if let failure = state.failure { return .failed(failure) }
      if state.awaitsContinue {
        swap(&state.whenReady, &closure)
        startPatience(&state)
        return .wait
      }
      guard state.position == state.piece.count else {
        // Safety: the caller's buffer is valid during the call.
        return .bytes(unsafe copy(into: buffer, &state))
      }
      // The source of a stated length is not asked for more than that.
      guard state.source != nil, state.remaining != 0 else { return .end }
      swap(&state.whenReady, &closure)
      startPull(&state)
      return .wait
    }
  }

  /// Whether the source is asked for its next piece.
  package var awaitsSource: Bool { state.withLock { $0.pull != nil } }

  /// Whether nothing more is sent, because the server has refused the body or the transfer has ended.
  package var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Returns to the start; returns `false` if bytes that cannot be read again have been read.
  package func rewind() -> Bool {
    state.withLock { state in
      guard state.hasStarted else { return true }
      guard isHeld else { return false }
      state.position = 0
      return true
    }
  }

  /// Records that the server has responded, so that its consent is not waited for any more.
  package func serverAnswered() {
    let whenReady = state.withLock { state in
      state.awaitsContinue = false
      return state.whenReady.take()
    }
    if let whenReady { callOut(whenReady) }
  }

  /// Releases the source; nothing more is read.
  package func stop() {
    // The source is released with the removed values, outside of the lock, because its deinit may
    // run foreign code.
    let taken = state.withLock { state in
      state.isStopped = true
      state.piece = []
      state.position = 0
      return (
        state.pull.take(), state.patience.take(), state.source.take(), state.whenReady.take()
      )
    }
    callOut {
      taken.0?.cancel()
      taken.1?.cancel()
    }
  }

  private func copy(into buffer: UnsafeMutableRawBufferPointer, _ state: inout State) -> Int {
    let count = min(buffer.count, state.piece.count - state.position)
    let end = state.position + count
    // Safety: both ranges are within their buffers.
    unsafe state.piece[state.position..<end].withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
    state.position = end
    state.hasStarted = true
    if end == state.piece.count, state.source != nil {
      if !isHeld { (state.piece, state.position) = ([], 0) }
      startPull(&state)
    }
    return count
  }

  private func startPatience(_ state: inout State) {
    guard state.patience == nil else { return }
    state.patience = Task { [weak self] in
      try? await Task.sleep(for: Upload.continueTimeout)
      self?.serverAnswered()
    }
  }

  private func startPull(_ state: inout State) {
    guard state.pull == nil, let source = state.source, state.remaining != 0 else { return }
    state.pull = Task { [self] in
      do {
        arrived(try await source.next())
      } catch {
        fail("its source threw: \(error)")
      }
    }
  }

  private func arrived(_ piece: [UInt8]?) {
    // The source may be released with the removed values: outside of the lock, because its deinit
    // may run foreign code.
    let (whenReady, _) = state.withLock { state in
      state.pull = nil
      let source = piece == nil ? state.source.take() : nil
      return (hold(piece, &state) ? state.whenReady.take() : nil, source)
    }
    if let whenReady { callOut(whenReady) }
  }

  /// Stores a piece from the source. Returns `false` if the transport need not look yet.
  private func hold(_ piece: [UInt8]?, _ state: inout State) -> Bool {
    guard !state.isStopped else { return false }
    guard let piece else {
      if let remaining = state.remaining, remaining > 0 {
        state.failure = "it ended \(remaining) bytes before the stated length"
      }
      return true
    }
    if let remaining = state.remaining {
      guard UInt64(piece.count) <= remaining else {
        state.failure = "it goes beyond the stated length"
        return true
      }
      state.remaining = remaining - UInt64(piece.count)
    }
    if isHeld { state.piece += piece } else { (state.piece, state.position) = (piece, 0) }
    if piece.isEmpty { startPull(&state) }
    return !piece.isEmpty
  }

  private func fail(_ detail: String) {
    let whenReady = state.withLock { state in
      state.pull = nil
      state.failure = detail
      return state.whenReady.take()
    }
    if let whenReady { callOut(whenReady) }
  }
}

extension HTTPMethod {
  /// Whether a client may repeat a request by itself (RFC 9110, section 9.2.2).
  package var isIdempotent: Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(rawValue)
  }
}
