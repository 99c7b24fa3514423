import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Handles one request, from its first line to the end of its answer.
///
/// Two sides work on it: the server's thread, which must never wait, and a task that fetches. While
/// the task has nothing for the thread, the connection is suspended; while the thread has nothing
/// for the task, the task waits. All shared state is behind one lock. The connection is suspended
/// and resumed with the lock held, so that no side misses a change of the other; libmicrohttpd
/// makes no callbacks then. All foreign code is called after the lock is released: the task's
/// continuations, its cancellation, the observers.
final class Exchange: Sendable {
  /// The work for the next call of the server.
  enum Phase {
    /// The head has been received.
    case new
    /// The client waits for `100 Continue`, and the origin has not asked for the body yet.
    case startingUpload
    /// The body is being received.
    case uploading
    /// The body is being received, but not needed; the answer is sent after it.
    case dropping(ProxyAnswer)
    /// The whole request has been received.
    case ready(HTTPRequest, RequestBody?)
    /// The whole request has been received. The answer was begun before that and has not ended.
    case endingEarly
    /// The whole request has been received, and a task gets the answer.
    case waiting
    /// The server library is sending the answer.
    case sending
  }

  struct State {
    var phase = Phase.new
    var isSuspended = false
    /// Whether something was sent to a client that may have left, to find that out.
    var isProbed = false
    /// Whether the exchange must not wait any more, because the server is stopping.
    var isAborted = false
    /// Whether the request has ended. The connection is not used after that.
    var isEnded = false
    var answer: ProxyAnswer?
    /// The interim answers that came before the connection was suspended.
    var interim: [HTTPResponseHead] = []
    var upload = UploadState()
    var download = DownloadState()
    /// The answer that is sent before the whole request has been received.
    var early: EarlyAnswer?
    var task: Task<Void, Never>?
    var note = AnswerNote()
    /// The other side of a tunnel that is about to begin.
    var switched: SwitchedServer?
    /// The end of the tunnel that the connection became; set when it has ended.
    var relayed: Relay.Result?
    var isTunnel = false
    /// The request of a reverse proxy, and its URL at the origin.
    var reversed: (head: RequestHead, url: NormalizedURL)?

    var isReceiving: Bool {
      switch phase {
      case .startingUpload, .uploading, .dropping: !upload.isFinished
      default: false
      }
    }
  }

  let core: ProxyCore
  let connection: ClientConnection
  /// The client of the connection, for threads that may not use that.
  let client: ClientInfo?
  let state = Lock(State())
  let target: [UInt8]
  /// The address of the target in memory, as a number. It shows whether the head was read as it was
  /// sent.
  private let place: UInt
  /// The server that the client believes to speak TLS with; `nil` if it knows of the proxy.
  private let intercepted: InterceptedTarget?

  init(
    core: ProxyCore, connection: ClientConnection, client: ClientInfo? = nil, target: [UInt8],
    place: UInt
  ) {
    self.core = core
    self.connection = connection
    self.client = client
    self.target = target
    self.place = place
    intercepted = client?.target
    state.withLock { $0.note.start = core.clock.now() }
  }

  /// Whether the client uses TLS: then its session is used by one thread at a time, that of the server
  /// library or, while the connection is suspended, another one.
  var isEncrypted: Bool { core.isEncrypted || intercepted != nil }

  /// Continues with the request.
  ///
  /// The server calls it for the head, for each piece of body, for the end of the request, and
  /// after each ``ClientConnection/resume()``.
  ///
  /// - Parameter data: A piece of the body; `nil` for the head and at the end.
  /// - Returns: The number of bytes taken from the piece, or `nil` if the connection has to end.
  func proceed(
    method: UnsafePointer<CChar>, version: UnsafePointer<CChar>, data: UnsafeRawBufferPointer?
  ) -> Int? {
    let phase = state.withLock { $0.isAborted ? nil : $0.phase }
    // Detects a client that leaves during its request.
    if unsafe data != nil { client?.noticeEnd() }
    switch phase {
    case nil: return nil
    case .new:
      client?.beginRequest()
      state.withLock { $0.note.method = unsafe String(cString: method) }
      return begin { () throws(RequestRefusal) in
        unsafe try connection.head(target: target, at: place, method: method, version: version)
      }
    case .startingUpload: return afterStart()
    case .uploading:
      if let data = unsafe data { return unsafe take(data) }
      return endUpload()
    case .dropping(let answer):
      if let data = unsafe data {
        return state.withLock { state in
          state.upload.hasBegun = true
          return suspendForEarlyAnswer(&state) ? 0 : data.count
        }
      }
      let isEarly = state.withLock { state in
        state.upload.isFinished = true
        return state.early != nil
      }
      return isEarly ? endOrWait() : send(answer)
    case .ready(let request, let body): return answer(request, body)
    case .endingEarly: return endOrWait()
    case .waiting: return sendOrWait()
    case .sending: return unsafe data?.count ?? 0
    }
  }

  /// Reads the head and determines who answers.
  private func begin(_ read: () throws(RequestRefusal) -> RequestHead) -> Int? {
    var readable: RequestHead?
    do throws(RequestRefusal) {
      let head = try read()
      let room = state.withLock { state in
        state.note.take(head)
        return state.note.headRoom
      }
      guard room >= AnswerNote.leastRoom else {
        throw RequestRefusal(
          431,
          "the fields of the request are too large; send fewer or shorter ones, or clear cookies")
      }
      readable = head
      let route =
        if let intercepted { TargetRouter.Route.forward(try intercepted.url(of: head)) } else {
          try core.router.route(head)
        }
      return begin(head, route)
    } catch {
      state.withLock { $0.note.url = TargetText.withoutCredentials(target) }
      guard let head = readable else { return send(OwnAnswers.refusal(error)) }
      let isLoop = core.identity.isLoop(head.fields)
      return begin(head, isLoop ? OwnAnswers.loop() : OwnAnswers.refusal(error))
    }
  }

  private func begin(_ head: RequestHead, _ route: TargetRouter.Route) -> Int? {
    switch route {
    case .forward(let url):
      note(url.string)
      if core.forwarding != nil { state.withLock { $0.reversed = (head, url) } }
      if core.identity.isLoop(head.fields) { return begin(head, OwnAnswers.loop()) }
      var head = head
      if let answer = head.countForward() { return begin(head, answer) }
      let request = core.request(head, to: url)
      if let name = head.upgrade, let desk = core.desk { return upgrade(request, to: name, desk) }
      return begin(head, request)
    case .capabilities:
      note(head.target)
      return begin(head, OwnAnswers.capabilities())
    case .page(let path, let query):
      note(path)
      return beginPage(head, path, query)
    }
  }

  /// Sends an answer of the proxy, once the body has been received, if there is one: many clients read
  /// only when they have sent all. One that is still sending after a while gets it then, and one that
  /// waits for `100 Continue` at once. If it did not wait, the answer would be lost: the system resets a
  /// connection that is closed with unread bytes.
  private func begin(_ head: RequestHead, _ answer: ProxyAnswer) -> Int? {
    if head.expectsContinue, !connection.isReadable { return send(answer) }
    state.withLock { state in
      state.answer = answer
      state.upload.awaitsContinue = head.expectsContinue
      // An answer that was sent now to a request without a body would end the connection: the
      // library treats it as a refusal to read the body. The call at the end of the request follows
      // at once.
      state.phase = head.hasBody ? .dropping(answer) : .waiting
      state.upload.isChunked = head.framing == .chunked
      state.upload.isClosed = true
    }
    guard head.hasBody else { return 0 }
    // A server that stops must not find the connection suspended behind an early answer.
    guard core.exchanges.add(self) else { return nil }
    let task = Task { [weak self] in
      guard let self else { return }
      await answerLate()
    }
    state.withLock { $0.task = task }
    return 0
  }

  private func beginPage(_ head: RequestHead, _ path: String, _ query: String) -> Int? {
    let isChange = head.method == .post && !head.hasBody
    guard head.method == .get || head.method == .head || isChange else {
      return begin(head, OwnAnswers.noChange())
    }
    guard !head.hasBody else {
      return begin(
        head, OwnAnswers.refusal(RequestRefusal(400, "a request for a page has no body")))
    }
    state.withLock { $0.phase = .waiting }
    let isOwn = core.router.isOwnPage(asking: head)
    start { [core] in
      guard isChange else {
        return OwnAnswers.page(
          core.pages?.answer(
            path: path, query: query, refusedHosts: core.interceptor?.refusedHosts ?? []))
      }
      let page = core.pages?.change(path: path, query: query, isOwn: isOwn)
      return page.map(OwnAnswers.page) ?? OwnAnswers.noChange()
    }
    return 0
  }

  private func begin(_ head: RequestHead, _ request: HTTPRequest) -> Int? {
    guard head.hasBody else {
      let body: RequestBody? = head.framing == .none ? nil : .bytes([])
      state.withLock { $0.phase = .ready(request, body) }
      return 0
    }
    var length: UInt64?
    if case .length(let count) = head.framing { length = count }
    state.withLock { state in
      state.upload.isChunked = head.framing == .chunked
      state.upload.missing = length
      state.upload.awaitsContinue = head.expectsContinue
      state.upload.sendsContinue = !head.isContinuedByLibrary
      state.phase = head.expectsContinue ? .startingUpload : .uploading
    }
    fetch(request, .stream(length: length, self))
    return head.expectsContinue ? afterStart() : 0
  }

  /// Receives the body once the origin asks for it, or sends the answer if there is one without the
  /// body, which a client that waits for `100 Continue` need not send then. The body of one that did
  /// not wait is received, and dropped.
  private func afterStart() -> Int? {
    let early: ProxyAnswer? = state.withLock { state in
      if let answer = state.answer, state.upload.isClosed, state.early == nil,
        !connection.isReadable
      {
        return answer
      }
      if state.upload.isWanted || state.answer != nil {
        state.phase = .uploading
        if state.upload.sendsContinue {
          InterimAnswer.write(InterimAnswer.proceed, to: connection)
        }
      } else {
        suspend(&state)
      }
      return nil
    }
    if let early { return send(early) }
    return 0
  }

  /// Answers at once from the store, or starts to get the answer.
  private func answer(_ request: HTTPRequest, _ body: RequestBody?) -> Int? {
    let stored = body == nil ? core.backend.storedAnswer(to: request) : nil
    if let stored, !stored.isStreamed { return send(stored) }
    state.withLock { $0.phase = .waiting }
    // A stream needs a task that provides its pieces, even if the answer is there.
    if let stored { start { stored } } else { fetch(request, body) }
    // A connection that is suspended in the call that completes the request would be read from after
    // that, and ended if the client has finished sending, although it waits for the answer. So it waits
    // in the next call, which follows at once.
    return 0
  }

  /// Sends the answer if it is there; otherwise suspends the connection until it is.
  func sendOrWait() -> Int? {
    let answer = state.withLock { state in
      if case .waiting = state.phase { writeInterim(&state) }
      if state.answer == nil { suspend(&state) }
      return state.answer
    }
    if let answer { return send(answer) }
    return 0
  }

  private func note(_ url: String) {
    state.withLock { $0.note.url = url }
  }
}
