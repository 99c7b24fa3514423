import CacheSystem
import HTTPSemantics
import HTTPTransports

// The answer of an exchange: getting it, sending it, and ending the exchange.
extension Exchange {
  /// Suspends the connection until ``wake(_:)``; must be called with the lock held.
  func suspend(_ state: inout State) {
    guard !state.isAborted, !state.isSuspended else { return }
    state.isSuspended = true
    connection.suspend()
  }

  /// Resumes the connection if it is suspended; must be called with the lock held.
  func wake(_ state: inout State) {
    guard state.isSuspended else { return }
    state.isSuspended = false
    connection.resume()
  }

  /// Gets the answer from the backend, in a task.
  func fetch(_ request: HTTPRequest, _ body: RequestBody?) {
    let request = toldOfClient(request)
    start { [core] in
      await core.backend.answer(request, body: body) { [weak self] head in self?.interim(head) }
    }
  }

  /// Gets an answer in a task, and passes on its body if that consists of pieces.
  func start(_ work: @escaping @Sendable () async -> ProxyAnswer) {
    guard core.exchanges.add(self) else {
      state.withLock { $0.isAborted = true }
      return
    }
    // A client waits for the answer.
    let task = Task(priority: .userInitiated) {
      let answer = await work()
      let note: AnswerNote? = state.withLock { state in
        guard !state.isEnded, !state.isAborted else { return nil }
        state.answer = answer
        if !answer.letsUploadGoOn { state.upload.isClosed = true }
        wake(&state)
        return state.note
      }
      if note != nil, !answer.letsUploadGoOn, state.withLock({ $0.isReceiving }) {
        Task { [weak self] in await self?.answerLate() }
      }
      guard case .stream(let length, let source) = answer.body else { return }
      guard let note else { return source.cancel() }
      await pump(source, length: length, discards: isBodiless(answer, note))
    }
    // Cancelling calls handlers of the code that the task runs, which take the lock.
    let isLate = state.withLock { state in
      state.task = task
      return state.isEnded || state.isAborted
    }
    if isLate { callOut { task.cancel() } }
  }

  /// Passes an interim answer on, if the client supports it and it can be sent now.
  func interim(_ head: HTTPResponseHead) {
    // The library itself sends 100, and 101 must not be passed on.
    guard head.status >= 102, head.status < 200 else { return }
    state.withLock { state in
      guard !state.isEnded, state.answer == nil, state.note.isHTTP11 else { return }
      guard case .waiting = state.phase else { return }
      // While the connection is suspended, no other code writes to its socket. Before that, the
      // server's thread may be writing.
      if state.isSuspended {
        write(head)
      } else if state.interim.count < Self.maximumInterim {
        state.interim.append(head)
      }
    }
  }

  /// The limit of interim answers that are kept until the connection is suspended.
  private static let maximumInterim = 16

  private func write(_ head: HTTPResponseHead) {
    guard let bytes = InterimAnswer.bytes(of: head, via: core.identity.via) else { return }
    InterimAnswer.write(bytes, to: connection)
  }

  /// Writes the interim answers that came too early; must be called with the lock held, on the
  /// thread of the server.
  func writeInterim(_ state: inout State) {
    for head in state.interim { write(head) }
    state.interim = []
  }

  /// Passes the answer to the library.
  func send(_ answer: ProxyAnswer) -> Int? {
    let (headRoom, isHead, isRequestChunked) = state.withLock { state in
      state.phase = .sending
      state.note.take(answer)
      return (state.note.headRoom, state.note.isHead, state.upload.isChunked)
    }
    if case .tunnel(let server) = answer.body {
      if isEncrypted { return switchEncrypted(answer, server) }
      state.withLock { $0.switched = server }
    }
    // libmicrohttpd ends the lines of chunks by a bare LF, too. Another server before this one may not,
    // and would then see other requests on the connection.
    let closes =
      answer.head.status != 101
      && (answer.closesConnection || isRequestChunked || core.isStopping)
    let lines = lines(of: answer, to: state.withLock { $0.reversed }, closes: closes)
    if lines.count > headRoom {
      // The library would end the connection without an answer.
      if headRoom < 0, case .bytes(let bytes) = answer.body {
        return sendItself(answer.head.status, lines, bytes)
      }
      if answer.source != .proxy {
        resume(state.withLock { $0.download.leave() }, with: .left)
        return send(OwnAnswers.headTooLarge())
      }
    }
    let content = content(of: answer, isHead: isHead)
    return connection.queue(status: answer.head.status, lines: lines, content: content) ? 0 : nil
  }

  /// Writes a refusal for which the head of its request has left no memory, and ends the connection.
  private func sendItself(_ status: Int, _ lines: [UInt8], _ body: [UInt8]) -> Int? {
    let head = state.withLock { state in
      var early = EarlyAnswer(
        length: UInt64(body.count), isHTTP11: state.note.isHTTP11, isRequestChunked: false)
      early.isComplete = true
      state.early = early
      return early.head(status: status, lines: lines) + (state.note.isHead ? [] : body)
    }
    InterimAnswer.write(head, to: connection)
    return nil
  }

  /// Returns the field lines of an answer.
  ///
  /// - Parameter reversed: The request of a reverse proxy; `nil` for a forward proxy. Most answers do
  ///   not need it.
  func lines(
    of answer: ProxyAnswer,
    to reversed: @autoclosure () -> (head: RequestHead, url: NormalizedURL)?,
    closes: Bool
  ) -> [UInt8] {
    AnswerLines.lines(
      of: answer, via: core.identity.via, closes: closes,
      rewriting: { field in
        guard let origin = core.router.origin, let forwarding = core.forwarding,
          let reversed = reversed()
        else { return field }
        let address = forwarding.address(
          for: core.router.checkedAuthority(of: reversed.head), reversed.head.fields)
        return OriginReference(url: reversed.url, origin: origin, address: address).rewriting(field)
      },
      now: { HTTPDate(seconds: core.clock.now() / 1_000_000_000) })
  }

  /// Returns a request with the fields about the client, for the origin of a reverse proxy.
  ///
  /// Only the origin gets these fields. A stored answer is looked up without them, so it is the
  /// same for all clients unless the origin varies it (`Vary`).
  func toldOfClient(_ request: HTTPRequest) -> HTTPRequest {
    guard let forwarding = core.forwarding, let head = state.withLock({ $0.reversed?.head }) else {
      return request
    }
    return forwarding.request(
      request, from: client?.address ?? "",
      for: core.router.checkedAuthority(of: head))
  }

  /// Returns the content that is sent after the head.
  private func content(of answer: ProxyAnswer, isHead: Bool) -> ResponseContent {
    let status = answer.head.status
    if isHead || status == 304 { return .none(told: toldLength(of: answer)) }
    if status == 204 { return .bytes([]) }
    switch answer.body {
    case .bytes(let bytes): return .bytes(bytes)
    case .file(let descriptor, let offset, let length, _):
      if let bytes = core.fileBuffers.read(descriptor, at: offset, length: length) {
        return .buffer(bytes)
      }
      return .file(descriptor: descriptor, offset: offset, length: length)
    case .tunnel: return .tunnel
    case .stream(let length, _): return .stream(length: length, self)
    }
  }

  /// Returns the length that an answer states without having a body; `nil` for none (RFC 9110, section
  /// 8.6).
  func toldLength(of answer: ProxyAnswer) -> UInt64? {
    if answer.head.status == 204 { return nil }
    return answer.head.fields.contentLength ?? answer.representationLength
  }

  /// Returns whether no body is sent with an answer.
  func isBodiless(_ answer: ProxyAnswer, _ note: AnswerNote) -> Bool {
    note.isHead || [204, 304].contains(answer.head.status)
  }

  /// Records that the request has ended. The connection is not used after that.
  ///
  /// - Parameter status: The status of the answer, which may be the library's own; 0 if there is
  ///   none.
  func end(isComplete: Bool, status: Int) {
    let (note, task, reader, writer, isSent, isTunnel) = state.withLock { state in
      if let result = state.relayed { state.note.take(result) }
      // The client left before the tunnel could begin.
      if !state.isTunnel, state.note.source == .tunnel { state.note.source = .network }
      if status != 0, state.note.status == 0 { state.note.refused(status, target: target) }
      state.isEnded = true
      state.isSuspended = false
      // For the library, the end of an early answer is an error.
      let isSent = state.early?.isComplete ?? state.relayed?.isComplete ?? isComplete
      // A body that ends with the connection must not look whole.
      if !isSent, !state.isTunnel, !state.note.isHTTP11 || state.early?.framing == .connection {
        connection.breakOnClose()
      }
      return (
        state.note, state.task.take(), state.upload.fail(), state.download.leave(), isSent,
        state.isTunnel
      )
    }
    resume(reader)
    resume(writer, with: .left)
    if let task {
      core.exchanges.remove(self)
      // After a complete answer, the task may still have data to store.
      if !isSent { callOut { task.cancel() } }
    }
    client?.endRequest()
    let record = note.record(client: client?.address ?? "", isSent, core.clock.now())
    if isTunnel { core.notify { $0.answered(record) } } else { core.finish(record) }
  }

  /// Ends the exchange if its client has left while it sends its request, or waits for the answer.
  ///
  /// A client that has only finished sending still waits, and differs from one that has left only when
  /// something is sent to it: then the system of one that has left reports an error. So it gets a `100`,
  /// which clients skip (RFC 9110, section 15.2.1).
  func noticeLeaving() {
    let isGone = state.withLock { state in
      // No call follows bytes that have no part of the body, such as the length of a chunk, so their end
      // is not noticed in `proceed`. A suspended connection is read from when it is resumed.
      if !state.isEnded, !state.isSuspended, state.isReceiving { client?.noticeEnd() }
      guard state.isSuspended, state.answer == nil else { return false }
      let end = connection.end
      if end == .finished, case .waiting = state.phase, state.note.isHTTP11, !state.isProbed {
        state.isProbed = true
        InterimAnswer.write(InterimAnswer.proceed, to: connection)
      }
      return end == .gone
    }
    if isGone { abort() }
  }

  /// Ends the exchange as soon as the library allows it.
  func abort() {
    let (task, reader, writer) = state.withLock {
      state -> (
        Task<Void, Never>?, CheckedContinuation<Void, Never>?,
        CheckedContinuation<DownloadState.Turn, Never>?
      ) in
      // A tunnel is ended by its relay, which may just be using the session of TLS.
      guard !state.isEnded, !state.isTunnel else { return (nil, nil, nil) }
      state.isAborted = true
      wake(&state)
      return (state.task, state.upload.fail(), state.download.leave())
    }
    resume(reader)
    resume(writer, with: .left)
    if let task { callOut { task.cancel() } }
  }
}
