import CacheSystem
import HTTPTransports

/// Holds the part of a request's body that has come and is not taken yet.
struct UploadState {
  /// How many bytes are taken from a client ahead of the origin.
  static let capacity = 64 * 1024

  var pieces: [[UInt8]] = []
  var byteCount = 0
  /// The body comes in chunks.
  var isChunked = false
  /// The client sends it once it has `100 Continue`.
  var awaitsContinue = false
  /// Some of it has come.
  var hasBegun = false
  /// The origin has asked for the body.
  var isWanted = false
  /// All of it has come.
  var isFinished = false
  /// It will never all come.
  var isFailed = false
  /// Nobody wants the rest.
  var isClosed = false
  var reader: CheckedContinuation<Void, Never>?

  /// Ends the upload where it is.
  ///
  /// - Returns: the reader that waits, to be resumed once the lock is released.
  mutating func fail() -> CheckedContinuation<Void, Never>? {
    if !isFinished { isFailed = true }
    isClosed = true
    return reader.take()
  }
}

/// Tells that the client did not send all of a body.
struct UploadBroken: Error {}

/// Gives the body of a request to the transport, at the transport's pace.
final class UploadSource: RequestBodySource {
  private let exchange: Exchange

  init(_ exchange: Exchange) { self.exchange = exchange }

  func next() async throws -> [UInt8]? { try await exchange.nextUploadPiece() }
}

extension Exchange {
  /// Takes a piece of the body, unless there is enough already.
  func take(_ data: UnsafeRawBufferPointer) -> Int {
    resume(state.withLock { beginBody(&$0) }, with: .early)
    let (count, reader) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
      guard !state.upload.isClosed else { return (data.count, nil) }
      guard state.upload.byteCount < UploadState.capacity else {
        suspend(&state)
        return (0, nil)
      }
      // Safety: the library's bytes are copied.
      state.upload.pieces.append(unsafe Array(data))
      state.upload.byteCount += data.count
      return (data.count, state.upload.reader.take())
    }
    resume(reader)
    return count
  }

  /// Notes that some of the body has come.
  ///
  /// - Returns: the task that offers a piece which can go out from now on.
  private func beginBody(_ state: inout State) -> CheckedContinuation<DownloadState.Turn, Never>? {
    state.upload.hasBegun = true
    guard state.early == nil, state.download.writer != nil, mayAnswerEarly(state) else {
      return nil
    }
    state.download.piece = []
    return state.download.writer.take()
  }

  /// Notes that all of the body has come.
  func endUpload() -> Int? {
    let reader = state.withLock { state in
      state.upload.isFinished = true
      state.phase = state.early == nil ? .waiting : .endingEarly
      return state.upload.reader.take()
    }
    resume(reader)
    return state.withLock { $0.early == nil } ? sendOrWait() : endOrWait()
  }

  /// Returns the next bytes that have come; nil behind the last ones.
  func nextUploadPiece() async throws -> [UInt8]? {
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

  /// Waits until there is something new to see.
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

  /// Lets the task that sends the body look again; to be called without a lock.
  func resume(_ reader: CheckedContinuation<Void, Never>?) {
    if let reader { callOut { reader.resume() } }
  }
}
