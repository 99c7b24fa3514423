import Synchronization

/// Holds the piece of an answer's body that is being sent.
struct DownloadState {
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
  var writer: CheckedContinuation<Bool, Never>?

  /// Lets the task fetch the next piece.
  mutating func askForMore() {
    writer?.resume(returning: true)
    writer = nil
  }

  /// Tells the task that nobody reads on.
  mutating func leave() {
    isLeft = true
    piece = []
    offset = 0
    writer?.resume(returning: false)
    writer = nil
  }
}

extension Exchange {
  /// Fills a buffer of the library with the next bytes of the body.
  ///
  /// - Returns: how many; 0: none yet, and the connection is suspended; -1 at the end; -2 where the
  ///   body broke off.
  func readStream(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      let rest = state.download.piece.count - state.download.offset
      if rest > 0 {
        let count = min(rest, buffer.count)
        let start = state.download.offset
        unsafe buffer.copyBytes(from: state.download.piece[start..<(start + count)])
        state.download.offset += count
        state.note.streamedBytes += UInt64(count)
        if count == rest { state.download.piece = [] }
        return count
      }
      if state.isAborted { return breakOff(&state) }
      switch state.download.end {
      case .complete: return -1
      case .broken: return breakOff(&state)
      case nil:
        suspend(&state)
        // Not before all is on its way: a slow client has one buffer of bytes in memory, no more.
        state.download.askForMore()
        return 0
      }
    }
  }

  /// Ends the connection so that the body cannot pass for a whole one.
  private func breakOff(_ state: inout State) -> Int {
    if !state.note.isHTTP11 { connection.breakOnClose() }
    return -2
  }

  /// Gives the pieces of a body to the client, at its pace.
  ///
  /// - Parameter discards: reads them and sends none, for answers without a body.
  func pump(_ source: any PieceSource, length: UInt64?, discards: Bool) async {
    var count: UInt64 = 0
    do {
      while let piece = try await source.next() {
        count += UInt64(piece.count)
        // The end is seen before the last bytes are sent: whoever has all of a body and asks again
        // finds it stored. Fewer or more bytes than were told are a broken body.
        if count == length, try await source.next() != nil { count += 1 }
        if let length, count > length { break }
        let goesOn = if discards { true } else { await offer(piece) }
        guard goesOn else {
          source.cancel()
          return
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
      wake(&state)
    }
  }

  /// Offers a piece; returns when the next one is wanted, with false when nobody reads on.
  private func offer(_ piece: [UInt8]) async -> Bool {
    if piece.isEmpty { return true }
    return await withCheckedContinuation { continuation in
      let isLeft = state.withLock { state in
        if state.download.isLeft { return true }
        state.download.piece = piece
        state.download.offset = 0
        state.download.writer = continuation
        wake(&state)
        return false
      }
      if isLeft { continuation.resume(returning: false) }
    }
  }
}
