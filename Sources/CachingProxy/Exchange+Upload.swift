import CacheSystem
import HTTPTransports

/// The part of a request's body that has been received and not passed on yet.
struct UploadState {
  /// The limit of bytes that are received from a client before the origin takes them.
  static let capacity = 64 * 1024

  var pieces: [[UInt8]] = []
  var byteCount = 0
  var isChunked = false
  /// The number of bytes that the client has not sent yet; `nil` if it is unknown.
  var missing: UInt64?
  /// Whether the client waits for `100 Continue` before it sends the body.
  var awaitsContinue = false
  /// Whether the exchange itself has to send that `100`.
  var sendsContinue = false
  var hasBegun = false
  var isWanted = false
  var isFinished = false
  /// Whether the body can never be received completely.
  var isFailed = false
  /// Whether the rest of the body is not needed.
  var isClosed = false
  /// Whether the client has been sending for a while since the rest is not needed.
  var isLate = false
  var reader: CheckedContinuation<Void, Never>?

  /// Ends the upload with a failure.
  ///
  /// - Returns: The waiting reader, to be resumed once the lock is released.
  mutating func fail() -> CheckedContinuation<Void, Never>? {
    if !isFinished { isFailed = true }
    isClosed = true
    return reader.take()
  }
}

/// The error for a client that did not send the whole body.
struct UploadBroken: Error {}

// The transport asks for the body at its own pace.
extension Exchange: RequestBodySource {
  /// Accepts a piece of the body, unless enough bytes are waiting.
  ///
  /// The last piece is always accepted, even before the origin has asked for the body: after the
  /// connection was suspended, libmicrohttpd would read on, see that a client has finished sending, and
  /// end the connection. Of a chunked body, the last piece is not known.
  func take(_ data: UnsafeRawBufferPointer) -> Int {
    let writer = state.withLock { state in
      state.upload.hasBegun = true
      return earlyWriter(&state)
    }
    resume(writer, with: .early)
    let (count, reader) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
      guard !state.upload.isClosed else {
        return (suspendForEarlyAnswer(&state) ? 0 : data.count, nil)
      }
      let missing = state.upload.missing.map { $0 - min($0, UInt64(data.count)) }
      guard missing == 0 || state.upload.byteCount < UploadState.capacity else {
        suspend(&state)
        return (0, nil)
      }
      // Safety: the bytes of the library are copied.
      state.upload.pieces.append(unsafe Array(data))
      state.upload.byteCount += data.count
      state.upload.missing = missing
      return (data.count, state.upload.reader.take())
    }
    resume(reader)
    return count
  }

  func endUpload() -> Int? {
    let reader = state.withLock { state in
      state.upload.isFinished = true
      state.phase = state.early == nil ? .waiting : .endingEarly
      return state.upload.reader.take()
    }
    resume(reader)
    // As in `answer`, it is not suspended in the call that completes the request.
    return state.withLock { $0.early == nil } ? 0 : endOrWait()
  }

  /// Returns the next received bytes, or `nil` after the last ones.
  func next() async throws -> [UInt8]? {
    while true {
      let upload = state.withLock { state -> (piece: [UInt8]?, isFinished: Bool, isFailed: Bool) in
        if !state.upload.isWanted {
          state.upload.isWanted = true
          wake(&state)
        }
        guard !state.upload.pieces.isEmpty else {
          return (nil, state.upload.isFinished, state.upload.isFailed)
        }
        let piece = state.upload.pieces.removeFirst()
        state.upload.byteCount -= piece.count
        wake(&state)
        return (piece, false, false)
      }
      if let piece = upload.piece { return piece }
      if upload.isFinished { return nil }
      if upload.isFailed || Task.isCancelled { throw UploadBroken() }
      await waitForUpload()
    }
  }

  /// Waits until the state of the upload has changed.
  private func waitForUpload() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { state in
          let upload = state.upload
          if !upload.pieces.isEmpty || upload.isFinished || upload.isFailed || Task.isCancelled {
            return false
          }
          state.upload.reader = continuation
          return true
        }
        if !waits { resume(continuation) }
      }
    } onCancel: {
      resume(state.withLock { $0.upload.reader.take() })
    }
  }

  /// Resumes the task that sends the body; must be called without a lock.
  func resume(_ reader: CheckedContinuation<Void, Never>?) {
    if let reader { callOut { reader.resume() } }
  }
}
