import HTTPTransport
import Synchronization

/// Holds the part of a request's body that has come and is not taken yet.
struct UploadState {
  /// How many bytes are taken from a client ahead of the origin.
  static let capacity = 64 * 1024

  var pieces: [[UInt8]] = []
  var byteCount = 0
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
  mutating func fail() {
    if !isFinished { isFailed = true }
    isClosed = true
    wakeReader()
  }

  /// Lets a waiting reader look again.
  mutating func wakeReader() {
    reader?.resume()
    reader = nil
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
    state.withLock { state in
      guard !state.upload.isClosed else { return data.count }
      guard state.upload.byteCount < UploadState.capacity else {
        suspend(&state)
        return 0
      }
      // Safety: the library's bytes are copied.
      state.upload.pieces.append(unsafe Array(data))
      state.upload.byteCount += data.count
      state.upload.wakeReader()
      return data.count
    }
  }

  /// Notes that all of the body has come.
  func endUpload() -> Int? {
    state.withLock { state in
      state.upload.isFinished = true
      state.upload.wakeReader()
      state.phase = .waiting
    }
    return sendOrWait()
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
        if !waits { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.upload.wakeReader() }
    }
  }
}
