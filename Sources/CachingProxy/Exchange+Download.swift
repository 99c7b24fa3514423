import CacheSystem

/// Holds the piece of an answer's body that is being sent.
struct DownloadState {
  /// What becomes of a piece that was offered.
  enum Turn {
    /// It is sent; the next one is wanted.
    case taken
    /// Nobody reads on.
    case left
    /// It can be sent before the request is all there.
    case early
  }

  /// Why no more pieces come.
  enum End {
    case complete
    case broken
  }

  var piece: [UInt8] = []
  var offset = 0
  var end: End?
  /// Nobody reads on.
  var isLeft = false
  /// The task that waits until its piece is sent.
  var writer: CheckedContinuation<Turn, Never>?

  /// Notes that nobody reads on.
  ///
  /// - Returns: the task that waits, to be resumed with ``Turn/left`` once the lock is released.
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
  /// - Returns: how many; 0: none yet, and the connection is suspended; -1 at the end; -2 where the
  ///   body broke off.
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
        // Where no chunk tells the end, the connection does.
        if !state.note.isHTTP11 { connection.lookAgain() }
        return (-1, nil)
      case .broken: return (breakOff(&state), nil)
      case nil:
        suspend(&state)
        // Not before all is on its way: a slow client has one buffer of bytes in memory, no more.
        return (0, state.download.writer.take())
      }
    }
    resume(writer, with: .taken)
    return count
  }

  /// Lets the task that gives pieces go on; to be called without a lock.
  func resume(
    _ writer: CheckedContinuation<DownloadState.Turn, Never>?, with turn: DownloadState.Turn
  ) {
    if let writer { callOut { writer.resume(returning: turn) } }
  }

  /// Ends the connection so that the body cannot pass for a whole one.
  private func breakOff(_ state: inout State) -> Int {
    if !state.note.isHTTP11 { connection.breakOnClose() }
    // libmicrohttpd up to 0.9.75, at least, closes a connection that ends here only when it looks at it
    // the next time: after all others of its thread have been used or have timed out.
    connection.lookAgain()
    return -2
  }

  /// Gives the pieces of a body to the client, at its pace.
  ///
  /// - Parameter discards: reads them and sends none, for answers without a body.
  func pump(_ source: any AnswerPieces, length: UInt64?, discards: Bool) async {
    if !discards, await beginEarly(length) { return await pumpEarly(source, length, nil) }
    var count: UInt64 = 0
    do {
      while let piece = try await source.next() {
        count += UInt64(piece.count)
        // The end is seen before the last bytes are sent: whoever has all of a body and asks again
        // finds it stored. Fewer or more bytes than were told are a broken body.
        if count == length, try await source.next() != nil { count += 1 }
        if let length, count > length { break }
        switch discards ? .taken : await offer(piece) {
        case .taken: break
        case .left: return source.cancel()
        case .early:
          // Nothing was sent before this piece.
          if await beginEarly(length) { return await pumpEarly(source, length, piece) }
          guard await offer(piece) == .taken else { return source.cancel() }
        }
        if count == length { break }
      }
      let isWhole = length.map { $0 == count } ?? true
      if !isWhole { source.cancel() }
      finishDownload(isWhole ? .complete : .broken)
    } catch {
      source.cancel()
      finishDownload(.broken)
    }
  }

  private func finishDownload(_ end: DownloadState.End) {
    state.withLock { state in
      state.download.end = end
      state.upload.isClosed = true
      wake(&state)
    }
  }

  /// Offers a piece; returns when the next one is wanted, or it can go out another way.
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
