import CacheSystem
import HTTPSemantics
import HTTPTransport
import Synchronization

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
        state.upload.isClosed = true
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
    if isLate { task.cancel() }
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
    let note = state.withLock { state in
      state.phase = .sending
      state.note.take(answer)
      return state.note
    }
    let closes = answer.closesConnection || core.isStopping
    let lines = AnswerLines.lines(of: answer, via: core.identity.via, closes: closes) {
      HTTPDate(seconds: core.clock.now() / 1_000_000_000)
    }
    if lines.count > note.headRoom, answer.source != .proxy {
      // The library would end the connection without a word.
      state.withLock { $0.download.leave() }
      return send(OwnAnswers.headTooLarge())
    }
    let content = content(of: answer, note)
    return connection.queue(status: answer.head.status, lines: lines, content: content) ? 0 : nil
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
      return .file(descriptor: descriptor, offset: offset, length: length)
    case .stream(let length, _): return .stream(length: length, self)
    }
  }

  /// Notes that the request is over; the connection is not touched after that.
  ///
  /// - Parameter refusal: the status with which the library has refused it by itself, or 0.
  func end(isComplete: Bool, refusal: Int) {
    let (note, task) = state.withLock { state in
      if refusal != 0, state.note.status == 0 {
        state.note.refused(refusal, target: target)
      }
      state.isEnded = true
      state.isSuspended = false
      state.upload.fail()
      state.download.leave()
      let task = state.task
      state.task = nil
      return (state.note, task)
    }
    if let task {
      core.exchanges.remove(self)
      // What is behind a complete answer may still have something to put away.
      if !isComplete { task.cancel() }
    }
    core.finish(note.record(client: connection.client?.address ?? "", isComplete, core.clock.now()))
  }

  /// Ends the exchange as soon as the library lets it.
  func abort() {
    let task: Task<Void, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      state.isAborted = true
      state.upload.fail()
      state.download.leave()
      wake(&state)
      return state.task
    }
    task?.cancel()
  }
}
