import CacheSystem
import HTTPSemantics
import HTTPTransports

// How an exchange comes by its answer, sends it, and ends.
extension Exchange {
  /// Leaves the connection alone until ``wake(_:)``; to be called with the lock held.
  func suspend(_ state: inout State) {
    guard !state.isAborted, !state.isSuspended else { return }
    state.isSuspended = true
    connection.suspend()
  }

  /// Goes on with the connection if it is suspended; to be called with the lock held.
  func wake(_ state: inout State) {
    guard state.isSuspended else { return }
    state.isSuspended = false
    connection.resume()
  }

  /// Asks the backend in a task.
  func fetch(_ request: HTTPRequest, _ body: RequestBody?) {
    let request = toldOfClient(request)
    start { [core] in
      await core.backend.answer(request, body: body) { [weak self] head in self?.interim(head) }
    }
  }

  /// Finds an answer in a task, and gives its body if that comes in pieces.
  func start(_ work: @escaping @Sendable () async -> ProxyAnswer) {
    guard core.exchanges.add(self) else {
      state.withLock { $0.isAborted = true }
      return
    }
    // Somebody waits for it, whatever else the program does.
    let task = Task(priority: .userInitiated) {
      let answer = await work()
      let note: AnswerNote? = state.withLock { state in
        guard !state.isEnded, !state.isAborted else { return nil }
        state.answer = answer
        if !answer.letsUploadGoOn { state.upload.isClosed = true }
        wake(&state)
        return state.note
      }
      guard case .stream(let length, let source) = answer.body else { return }
      guard let note else { return source.cancel() }
      await pump(
        source, length: length, discards: note.isHead || [204, 304].contains(answer.head.status))
    }
    // To cancel calls the handlers of what waits in the task, which take the lock.
    let isLate = state.withLock { state in
      state.task = task
      return state.isEnded || state.isAborted
    }
    if isLate { callOut { task.cancel() } }
  }

  /// Passes an interim answer on, where the client and the moment allow it.
  private func interim(_ head: HTTPResponseHead) {
    // The library answers 100 by itself, and 101 is not for us to pass on.
    guard head.status >= 102, head.status < 200 else { return }
    state.withLock { state in
      guard !state.isEnded, state.answer == nil, state.note.isHTTP11 else { return }
      guard case .waiting = state.phase else { return }
      // While the connection is suspended, nobody else writes to its socket; before, the server's
      // thread is about to.
      if state.isSuspended {
        write(head)
      } else if state.interim.count < Self.maximumInterim {
        state.interim.append(head)
      }
    }
  }

  /// The most interim answers that are kept for the moment in which the connection is suspended.
  private static let maximumInterim = 16

  private func write(_ head: HTTPResponseHead) {
    InterimAnswer.write(head, to: connection.socket, via: core.identity.via)
  }

  /// Writes the interim answers that came early; to be called with the lock held, in the thread of
  /// the server.
  func writeInterim(_ state: inout State) {
    for head in state.interim { write(head) }
    state.interim = []
  }

  /// Hands the answer to the library.
  func send(_ answer: ProxyAnswer) -> Int? {
    let (note, reversed) = state.withLock { state in
      state.phase = .sending
      state.note.take(answer)
      return (state.note, state.reversed)
    }
    let closes = answer.closesConnection || core.isStopping
    let lines = lines(of: answer, to: reversed, closes: closes)
    if lines.count > note.headRoom, answer.source != .proxy {
      // The library would end the connection without a word.
      resume(state.withLock { $0.download.leave() }, with: .left)
      return send(OwnAnswers.headTooLarge())
    }
    let content = content(of: answer, note)
    return connection.queue(status: answer.head.status, lines: lines, content: content) ? 0 : nil
  }

  /// Returns the field lines of an answer.
  ///
  /// - Parameter reversed: what a reverse proxy was asked for; nil for a forward proxy.
  func lines(
    of answer: ProxyAnswer, to reversed: (head: RequestHead, url: NormalizedURL)?, closes: Bool
  ) -> [UInt8] {
    AnswerLines.lines(
      of: answer, via: core.identity.via, closes: closes,
      rewriting: { field in
        guard let reversed, let origin = core.router.origin, let forwarding = core.forwarding else {
          return field
        }
        let address = forwarding.address(
          for: core.router.checkedAuthority(of: reversed.head), reversed.head.fields)
        return OriginReference(url: reversed.url, origin: origin, address: address)
          .rewriting(field)
      },
      now: { HTTPDate(seconds: core.clock.now() / 1_000_000_000) })
  }

  /// Returns a request with what a reverse proxy tells the origin of the client.
  ///
  /// Only the origin sees that: an answer in the store is looked up without it, so it is the same for all
  /// clients unless the origin says otherwise (`Vary`).
  private func toldOfClient(_ request: HTTPRequest) -> HTTPRequest {
    guard let forwarding = core.forwarding, let head = state.withLock({ $0.reversed?.head }) else {
      return request
    }
    return forwarding.request(
      request, from: connection.client?.address ?? "",
      for: core.router.checkedAuthority(of: head))
  }

  /// Decides what is sent behind the head.
  private func content(of answer: ProxyAnswer, _ note: AnswerNote) -> ResponseContent {
    let status = answer.head.status
    if note.isHead || status == 304 {
      return .none(told: answer.head.fields.contentLength ?? answer.representationLength)
    }
    if status == 204 { return .bytes([]) }
    switch answer.body {
    case .bytes(let bytes): return .bytes(bytes)
    case .file(let descriptor, let offset, let length, _):
      if let bytes = core.fileBuffers.read(descriptor, at: offset, length: length) {
        return .buffer(bytes)
      }
      return .file(descriptor: descriptor, offset: offset, length: length)
    case .stream(let length, _): return .stream(length: length, self)
    }
  }

  /// Notes that the request is over; the connection is not touched after that.
  ///
  /// - Parameter status: the status of the answer, which the library may have made itself; 0 if there is none.
  func end(isComplete: Bool, status: Int) {
    let (note, task, reader, writer, isSent) = state.withLock { state in
      if status != 0, state.note.status == 0 { state.note.refused(status, target: target) }
      state.isEnded = true
      state.isSuspended = false
      // The library takes the end of an early answer for an error.
      let isSent = state.early?.isComplete ?? isComplete
      return (
        state.note, state.task.take(), state.upload.fail(), state.download.leave(), isSent
      )
    }
    resume(reader)
    resume(writer, with: .left)
    if let task {
      core.exchanges.remove(self)
      // What is behind a complete answer may still have something to put away.
      if !isSent { callOut { task.cancel() } }
    }
    core.finish(note.record(client: connection.client?.address ?? "", isSent, core.clock.now()))
  }

  /// Ends the exchange as soon as the library lets it.
  func abort() {
    let (task, reader, writer) = state.withLock {
      state -> (
        Task<Void, Never>?, CheckedContinuation<Void, Never>?,
        CheckedContinuation<DownloadState.Turn, Never>?
      ) in
      guard !state.isEnded else { return (nil, nil, nil) }
      state.isAborted = true
      wake(&state)
      return (state.task, state.upload.fail(), state.download.leave())
    }
    resume(reader)
    resume(writer, with: .left)
    if let task { callOut { task.cancel() } }
  }
}
