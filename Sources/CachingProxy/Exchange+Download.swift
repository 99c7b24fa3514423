import CacheClient
import CacheSystem

/// The piece of an answer's body that is being sent.
struct DownloadState {
  /// The result of offering a piece.
  enum Turn {
    /// The piece has been sent; the next one may be offered.
    case taken
    /// The client does not read any more.
    case left
    /// The piece can be sent before the whole request has been received.
    case early
  }

  /// The reason why there are no more pieces.
  enum End {
    case complete
    case broken
  }

  var piece: [UInt8] = []
  var offset = 0
  var end: End?
  /// Whether the client does not read any more.
  var isLeft = false
  /// The task that waits until its piece has been sent.
  var writer: CheckedContinuation<Turn, Never>?

  /// Records that the client does not read any more.
  ///
  /// - Returns: The waiting task, to be resumed with ``Turn/left`` once the lock is released.
  mutating func leave() -> CheckedContinuation<Turn, Never>? {
    isLeft = true
    piece = []
    offset = 0
    return writer.take()
  }
}

extension Exchange {
  /// Fills a buffer of the library with the next bytes of the body.
  ///
  /// - Returns: The number of bytes; 0 if there are none yet and the connection is suspended; -1 at
  ///   the end; -2 if the body broke off.
  func readStream(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let (count, writer) = state.withLock {
      state -> (Int, CheckedContinuation<DownloadState.Turn, Never>?) in
      let rest = state.download.piece.count - state.download.offset
      if rest > 0 {
        let count = min(rest, buffer.count)
        let start = state.download.offset
        unsafe buffer.copyBytes(from: state.download.piece[start..<(start + count)])
        state.download.offset += count
        state.note.streamedBytes += UInt64(count)
        if count == rest { state.download.piece = [] }
        return (count, nil)
      }
      if state.isAborted { return (breakOff(&state), nil) }
      switch state.download.end {
      case .complete:
        // Without chunks, the end of the connection is the end of the body.
        if !state.note.isHTTP11 { connection.lookAgain() }
        return (-1, nil)
      case .broken: return (breakOff(&state), nil)
      case nil:
        suspend(&state)
        // The next piece is requested only when this one has been sent, so that a slow client has
        // at most one buffer in memory.
        return (0, state.download.writer.take())
      }
    }
    resume(writer, with: .taken)
    return count
  }

  /// Resumes the task that provides pieces; must be called without a lock.
  func resume(
    _ writer: CheckedContinuation<DownloadState.Turn, Never>?, with turn: DownloadState.Turn
  ) {
    if let writer { callOut { writer.resume(returning: turn) } }
  }

  /// Ends the connection in such a way that the body does not look complete.
  private func breakOff(_ state: inout State) -> Int {
    if !state.note.isHTTP11 { connection.breakOnClose() }
    // libmicrohttpd up to at least 0.9.75 closes such a connection only when it checks it the next
    // time: after all other connections of its thread have been used or have timed out.
    connection.lookAgain()
    return -2
  }

  /// Sends the pieces of a body to the client, at its pace.
  ///
  /// - Parameter discards: Whether the pieces are read and not sent, for answers without a body.
  func pump(_ source: any AnswerPieces, length: UInt64?, discards: Bool) async {
    if !discards, await pumpEarly(source, length) { return }
    var count: UInt64 = 0
    do {
      while let piece = try await source.next() {
        count += UInt64(piece.count)
        // The end is read before the last bytes are sent: a client that has the whole body and asks
        // again finds it stored. Fewer or more bytes than stated mean a broken body.
        if count == length {
          if try await source.next() != nil { count += 1 }
          noteStoring(of: source)
        }
        if let length, count > length { break }
        switch discards ? .taken : await offer(piece) {
        case .taken: break
        case .left: return source.cancel()
        case .early:
          // Nothing was sent before this piece.
          if await pumpEarly(source, length, piece) { return }
          guard await offer(piece) == .taken else { return source.cancel() }
        }
        if count == length { break }
      }
      let isWhole = length.map { $0 == count } ?? true
      if !isWhole { source.cancel() }
      noteStoring(of: source)
      finishDownload(isWhole ? .complete : .broken)
    } catch {
      source.cancel()
      noteStoring(of: source)
      noteFailure(error)
      finishDownload(.broken)
    }
  }

  /// Notes whether the body is stored. After the last bytes, the library may end the exchange at
  /// once.
  func noteStoring(of source: any AnswerPieces) {
    let storing = source.storing
    state.withLock { $0.note.storing = storing }
  }

  /// Notes why the body broke off. The head, which does not say so, was sent before.
  func noteFailure(_ error: any Error) {
    guard let error = error as? ClientError, !error.isCancellation else { return }
    let reason =
      if case .transport(let cause) = error.cause { "the origin has failed: \(cause.cause)" } else {
        "\(error)"
      }
    state.withLock { $0.note.failure = (error.statusDetail, reason) }
  }

  private func finishDownload(_ end: DownloadState.End) {
    state.withLock { state in
      state.download.end = end
      state.upload.isClosed = true
      wake(&state)
    }
  }

  /// Offers a piece. Returns when the next one may be offered, or the piece can be sent in another
  /// way.
  private func offer(_ piece: [UInt8]) async -> DownloadState.Turn {
    if piece.isEmpty { return .taken }
    return await withCheckedContinuation { continuation in
      let turn: DownloadState.Turn? = state.withLock { state in
        if state.download.isLeft { return .left }
        if mayAnswerEarly(state) { return .early }
        state.download.piece = piece
        state.download.offset = 0
        state.download.writer = continuation
        wake(&state)
        return nil
      }
      if let turn { resume(continuation, with: turn) }
    }
  }
}
