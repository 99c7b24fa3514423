import CacheSystem
import HTTPSemantics
import HTTPTransports

// Sending an answer while the body of its request is still being received.
extension Exchange {
  /// Returns whether the answer can be sent now, before the whole request has been received; must
  /// be called with the lock held.
  ///
  /// The library writes nothing to the socket in these phases, except perhaps `100 Continue`, which
  /// is complete when the first bytes of the body have been received.
  func mayAnswerEarly(_ state: State) -> Bool {
    guard !state.isEnded, !state.isAborted, state.answer != nil, state.isReceiving,
      !state.upload.isClosed || state.upload.isLate,
      // With TLS it is sent while nothing is received, and the end of the connection cannot end its body.
      !isEncrypted || state.upload.isLate && state.note.isHTTP11
    else { return false }
    return !state.upload.awaitsContinue || state.upload.hasBegun
  }

  /// Suspends a connection with TLS until its early answer has been sent; must be called with the lock
  /// held, on the thread of the server. Without TLS, the answer is sent while the client sends.
  ///
  /// - Returns: `false` if the piece that was received has to be taken, and dropped.
  func suspendForEarlyAnswer(_ state: inout State) -> Bool {
    guard let early = state.early, early.tls != nil, state.download.end == nil, !state.isAborted
    else { return false }
    if early.drains {
      state.early?.drains = false
      return false
    }
    suspend(&state)
    return true
  }

  /// Begins to send the answer, if it can be sent before the whole request has been received.
  ///
  /// - Returns: `nil` if the library has to send it.
  private func beginEarly(_ length: UInt64?) async -> (answer: EarlyAnswer, hasBegun: Bool)? {
    let begun: (EarlyAnswer, head: [UInt8])? = state.withLock { state in
      guard mayAnswerEarly(state), let answer = state.answer else { return nil }
      var early =
        isBodiless(answer, state.note)
        ? EarlyAnswer(told: toldLength(of: answer))
        : EarlyAnswer(
          length: length, isHTTP11: state.note.isHTTP11, isRequestChunked: state.upload.isChunked)
      // Here, because the client may leave: with the lock held, the request has not ended.
      early.tls = connection.encryptedEnd()
      state.early = early
      // All of an empty body may have been read; the connection must not end before it has been sent.
      state.download.end = nil
      state.note.take(answer)
      connection.sendWithoutDelay()
      let lines = lines(of: answer, to: state.reversed, closes: true)
      return (early, early.head(status: answer.head.status, lines: lines))
    }
    guard let (early, head) = begun else { return nil }
    return (early, await write(head))
  }

  /// The time that a client has to finish its request before it gets a refusal.
  ///
  /// A short request is received to its end, so that the connection can be used again. A client that
  /// pauses, or has very much to send, gets the answer, and need not send the rest. With TLS, one that
  /// pauses gets it once it sends more.
  private static let refusalDelay = Duration.seconds(1)

  /// Sends an answer that does not let the upload go on, if the client is still sending after a while.
  func answerLate() async {
    do { try await Task.sleep(for: Self.refusalDelay) } catch { return }
    let (writer, bytes) = state.withLock { state -> (_, [UInt8]?) in
      state.upload.isLate = true
      let writer = earlyWriter(&state)
      guard let answer = state.answer else { return (writer, nil) }
      return switch answer.body {
      case .bytes(let bytes): (writer, isBodiless(answer, state.note) ? [] : bytes)
      // All of an empty body is there.
      case .stream where state.download.end == .complete: (writer, [])
      default: (writer, nil)
      }
    }
    resume(writer, with: .early)
    if let bytes { await answerEarly(bytes) }
  }

  /// Returns the task that offers a piece, if the piece can be sent from now on.
  func earlyWriter(_ state: inout State) -> CheckedContinuation<DownloadState.Turn, Never>? {
    guard state.early == nil, state.download.writer != nil, mayAnswerEarly(state) else {
      return nil
    }
    state.download.piece = []
    return state.download.writer.take()
  }

  /// Sends an answer with these bytes, if it can be sent before the whole request has been received.
  private func answerEarly(_ bytes: [UInt8]) async {
    guard let (early, hasBegun) = await beginEarly(UInt64(bytes.count)) else { return }
    var isWhole = false
    if hasBegun { isWhole = await write(early.framed(bytes) + early.end, then: completeEarly) }
    leaveEarly(isWhole)
  }

  /// Sends the pieces of an answer to the client, at its pace, if they can be sent before the whole
  /// request has been received.
  ///
  /// It reads up to the end of the source, which comes when the origin has received the rest of the
  /// request.
  ///
  /// - Parameter first: The piece that has been read already.
  /// - Returns: `false` if the library has to send them.
  func pumpEarly(
    _ source: any AnswerPieces, _ length: UInt64?, _ first: [UInt8]? = nil
  ) async -> Bool {
    guard let (early, hasBegun) = await beginEarly(length) else { return false }
    var count: UInt64 = 0
    var piece = first
    var isWhole = hasBegun && length == 0
    do {
      if !hasBegun { throw ClientGone() }
      if piece == nil { piece = try await source.next() }
      while let next = piece {
        count += UInt64(next.count)
        if let length, count > length { throw TooLong() }
        let isLast = !isWhole && count == length
        let isSent = await write(early.framed(next) + (isLast ? early.end : [])) { state in
          state.note.streamedBytes += UInt64(next.count)
          if isLast { completeEarly(&state) }
        }
        if !isSent { throw ClientGone() }
        if isLast { isWhole = true }
        piece = try await source.next()
      }
      isWhole = length == nil || isWhole
    } catch {
      // After a complete answer, the origin does not need the rest of the request.
      if !isWhole { noteFailure(error) }
    }
    noteStoring(of: source)
    if isWhole { await endEarly(early) } else { source.cancel() }
    leaveEarly(isWhole)
    return true
  }

  private struct TooLong: Error {}
  private struct ClientGone: Error {}

  /// Sends the end of an early answer, once.
  private func endEarly(_ early: EarlyAnswer) async {
    guard state.withLock({ $0.early?.isComplete == false }) else { return }
    _ = await write(early.end, then: completeEarly)
  }

  private func completeEarly(_ state: inout State) {
    state.early?.isComplete = true
    // Only if nothing else indicates the end: with both directions shut down, data from the client that
    // is not read yet would be lost.
    if state.early?.framing == .connection { connection.finishSending() }
  }

  /// Lets the connection end after an early answer; at once if the answer broke off.
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

  /// Ends the connection after an early answer, once request and answer have both ended.
  func endOrWait() -> Int? {
    state.withLock { state in
      guard state.download.end == nil else { return nil }
      suspend(&state)
      return 0
    }
  }

  /// Writes bytes to the client; returns `false` if it accepts no more.
  ///
  /// While the client's buffers are full, it tries again at increasing intervals. That is rare, and
  /// needs no thread that waits.
  ///
  /// - Parameter note: Called with the lock held when the last byte has been taken: a client may leave,
  ///   and the request end, as soon as it has got that.
  private func write(_ bytes: [UInt8], then note: (inout State) -> Void = { _ in }) async -> Bool {
    var rest = bytes[...]
    var pause = Self.shortestPause
    var waited = Duration.zero
    while true {
      let sent: (count: Int, hasWoken: Bool)? = state.withLock { state in
        let wasSuspended = state.isSuspended
        guard !state.isEnded, !state.isAborted, waited < core.patience,
          let count = send(rest, &state)
        else { return nil }
        if count == rest.count { note(&state) }
        return (count, wasSuspended && !state.isSuspended)
      }
      guard let (count, hasWoken) = sent else { return false }
      rest = rest.dropFirst(count)
      if rest.isEmpty { return true }
      if count > 0 {
        (pause, waited) = (Self.shortestPause, .zero)
      } else {
        do { try await Task.sleep(for: pause) } catch { return false }
        waited += pause
        pause = hasWoken ? Self.shortestPause : min(pause + pause, Self.longestPause)
      }
    }
  }

  /// Sends as many bytes as the system accepts at once, with TLS only on a suspended connection; must
  /// be called with the lock held.
  private func send(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> Int? {
    if bytes.isEmpty { return 0 }
    guard let tls = state.early?.tls else { return connection.send(bytes) }
    guard state.isSuspended else { return 0 }
    switch unsafe bytes.withUnsafeBytes({ unsafe tls.write($0) }) {
    case .bytes(let count): return count
    case .wouldBlock:
      // The client may read nothing before it has sent more.
      if connection.isReadable {
        state.early?.drains = true
        wake(&state)
      }
      return 0
    case .end, .failed: return nil
    }
  }

  private static let shortestPause = Duration.milliseconds(2)
  private static let longestPause = Duration.milliseconds(100)
}
