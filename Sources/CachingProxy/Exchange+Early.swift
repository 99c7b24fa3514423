import CacheSystem
import HTTPSemantics

// Sending an answer while the body of its request still comes.
extension Exchange {
  /// Tells whether the answer can go out now although the request is not all there; to be called with the
  /// lock held.
  ///
  /// The library writes nothing to the socket in these phases, but perhaps `100 Continue`, which is over
  /// when the first bytes of the body have come.
  func mayAnswerEarly(_ state: State) -> Bool {
    guard let answer = state.answer, !state.note.isHead, answer.head.status != 204,
      !state.upload.isClosed, !state.upload.isFinished
    else { return false }
    switch state.phase {
    case .startingUpload, .uploading: return !state.upload.awaitsContinue || state.upload.hasBegun
    default: return false
    }
  }

  /// Begins to send the answer, if it can go out before the request is all there.
  ///
  /// - Returns: false where the library is to send it.
  func beginEarly(_ length: UInt64?) async -> Bool {
    let head: [UInt8]? = state.withLock { state in
      guard mayAnswerEarly(state), let answer = state.answer else { return nil }
      let early = EarlyAnswer(
        length: length, isHTTP11: state.note.isHTTP11, isRequestChunked: state.upload.isChunked)
      state.early = early
      state.note.take(answer)
      connection.sendWithoutDelay()
      let lines = lines(of: answer, to: state.reversed, closes: true)
      return early.head(status: answer.head.status, lines: lines)
    }
    guard let head else { return false }
    _ = await write(head)
    return true
  }

  /// Gives the pieces of an early answer to the client, at its pace.
  ///
  /// It reads on to the end of the source, which comes when the origin has taken the rest of the request.
  ///
  /// - Parameter first: the piece that has been read already.
  func pumpEarly(_ source: any AnswerPieces, _ length: UInt64?, _ first: [UInt8]?) async {
    guard let early = state.withLock({ $0.early }) else { return }
    var count: UInt64 = 0
    var piece = first
    var isWhole = length == 0
    do {
      if piece == nil { piece = try await source.next() }
      while let next = piece {
        count += UInt64(next.count)
        if let length, count > length { throw TooLong() }
        if !next.isEmpty, !(await write(early.framed(next))) { throw ClientGone() }
        state.withLock { $0.note.streamedBytes += UInt64(next.count) }
        isWhole = count == length
        if isWhole { await endEarly(early) }
        piece = try await source.next()
      }
      isWhole = length == nil || isWhole
    } catch {
      // An origin that has sent all of an answer need not take the rest of the request.
    }
    if isWhole { await endEarly(early) } else { source.cancel() }
    leaveEarly(isWhole)
  }

  private struct TooLong: Error {}
  private struct ClientGone: Error {}

  /// Sends the end of an early answer, once.
  private func endEarly(_ early: EarlyAnswer) async {
    guard state.withLock({ $0.early?.isComplete == false }), await write(early.end) else { return }
    state.withLock { state in
      guard !state.isEnded, !state.isAborted else { return }
      state.early?.isComplete = true
      // Only where nothing else tells the end: with both sides shut, what the client has sent and is not
      // read yet would be lost.
      if early.framing == .connection { connection.finishSending() }
    }
  }

  /// Lets the connection end behind an early answer: at once where that has broken off.
  private func leaveEarly(_ isWhole: Bool) {
    state.withLock { state in
      state.upload.isClosed = true
      state.download.end = isWhole ? .complete : .broken
      if !isWhole, !state.isEnded {
        state.isAborted = true
        connection.breakOnClose()
        connection.stopReceiving()
      }
      wake(&state)
    }
  }

  /// Ends the connection behind an early answer, once both have come to their end.
  func endOrWait() -> Int? {
    state.withLock { state in
      guard state.download.end == nil else { return nil }
      suspend(&state)
      return 0
    }
  }

  /// Writes bytes to the client; false where it takes none any more.
  ///
  /// While its buffers are full it is tried again and again, at longer and longer intervals: that is rare,
  /// and needs no thread that waits.
  private func write(_ bytes: [UInt8]) async -> Bool {
    var rest = bytes[...]
    var pause = Self.shortestPause
    var waited = Duration.zero
    while !rest.isEmpty {
      let count: Int? = state.withLock { state in
        state.isEnded || state.isAborted ? nil : connection.send(rest)
      }
      guard let count, waited < core.patience else { return false }
      if count > 0 {
        rest = rest.dropFirst(count)
        (pause, waited) = (Self.shortestPause, .zero)
      } else {
        do { try await Task.sleep(for: pause) } catch { return false }
        waited += pause
        pause = min(pause + pause, Self.longestPause)
      }
    }
    return true
  }

  private static let shortestPause = Duration.milliseconds(2)
  private static let longestPause = Duration.milliseconds(100)
}
