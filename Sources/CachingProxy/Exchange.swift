import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Takes one request from its first line to the end of its answer.
///
/// Two sides meet here: the server's thread, which must never wait, and a task that fetches. While
/// the task has nothing for the thread, the connection is suspended; while the thread has nothing
/// for the task, the task waits. All that both touch is behind one lock. The connection is suspended and
/// resumed with the lock held, so neither can miss the other: libmicrohttpd calls nobody then. All that
/// belongs to others is called after the lock: the task's continuations, its cancellation, the observers.
final class Exchange: Sendable {
  /// Says what is to happen when the server calls next.
  enum Phase {
    /// The head has come.
    case new
    /// The origin is asked, and has not asked for the body yet.
    case startingUpload(RequestHead)
    /// The body comes.
    case uploading
    /// The body comes, but nobody wants it; the answer is sent behind it.
    case dropping(ProxyAnswer)
    /// All of the request is there.
    case ready(HTTPRequest, RequestBody?)
    /// All of the request is there; the answer was begun before, and has not come to its end.
    case endingEarly
    /// All of the request is there, and somebody looks for the answer.
    case waiting
    /// The answer is in the hands of the server library.
    case sending
  }

  struct State {
    var phase = Phase.new
    var isSuspended = false
    /// No more waiting: the server stops now.
    var isAborted = false
    /// The request is over; the connection is not touched again.
    var isEnded = false
    var answer: ProxyAnswer?
    /// Interim answers that have come before the connection was suspended.
    var interim: [HTTPResponseHead] = []
    var upload = UploadState()
    var download = DownloadState()
    /// The answer that is sent although the request is not all there.
    var early: EarlyAnswer?
    var task: Task<Void, Never>?
    var note = AnswerNote()
    /// What a reverse proxy was asked for, and the URL of that at the origin.
    var reversed: (head: RequestHead, url: NormalizedURL)?
  }

  let core: ProxyCore
  let connection: ClientConnection
  let state = Lock(State())
  let target: [UInt8]
  /// Where the target was in memory, as a number: it tells whether the head was read as it was sent.
  private let place: UInt

  init(core: ProxyCore, connection: ClientConnection, target: [UInt8], place: UInt) {
    self.core = core
    self.connection = connection
    self.target = target
    self.place = place
    state.withLock { $0.note.start = core.clock.now() }
  }

  /// Goes on with the request.
  ///
  /// The server calls it for the head, for each piece of body, for the end of the request, and
  /// after each ``ClientConnection/resume()``.
  ///
  /// - Parameter data: a piece of body; nil at head and end.
  /// - Returns: how much of the piece was taken; nil: the connection has to end.
  func proceed(
    method: UnsafePointer<CChar>, version: UnsafePointer<CChar>, data: UnsafeRawBufferPointer?
  ) -> Int? {
    let phase = state.withLock { $0.isAborted ? nil : $0.phase }
    // A client that leaves within its request.
    if unsafe data != nil { connection.noticeEnd() }
    switch phase {
    case nil: return nil
    case .new:
      return begin { () throws(RequestRefusal) in
        unsafe try connection.head(target: target, at: place, method: method, version: version)
      }
    case .startingUpload(let head): return afterStart(head)
    case .uploading:
      if let data = unsafe data { return unsafe take(data) }
      return endUpload()
    case .dropping(let answer):
      if let data = unsafe data { return data.count }
      return send(answer)
    case .ready(let request, let body): return answer(request, body)
    case .endingEarly: return endOrWait()
    case .waiting: return sendOrWait()
    case .sending: return unsafe data?.count ?? 0
    }
  }

  /// Reads the head and decides who answers.
  private func begin(_ read: () throws(RequestRefusal) -> RequestHead) -> Int? {
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
      let route = try core.router.route(head)
      return begin(head, route)
    } catch {
      state.withLock { $0.note.url = TargetText.withoutCredentials(target) }
      return send(OwnAnswers.refusal(error))
    }
  }

  private func begin(_ head: RequestHead, _ route: TargetRouter.Route) -> Int? {
    switch route {
    case .forward(let url):
      note(url.string)
      if core.forwarding != nil { state.withLock { $0.reversed = (head, url) } }
      if core.identity.isLoop(head.fields) { return begin(head, OwnAnswers.loop()) }
      switch MaxForwards.apply(to: head) {
      case .answer(let answer): return begin(head, answer)
      case .forward(let head): return begin(head, core.request(head, to: url))
      }
    case .capabilities:
      note(head.target)
      return begin(head, OwnAnswers.capabilities())
    case .page(let path):
      note(path)
      return beginPage(head, path)
    }
  }

  /// Answers by itself, once the body has come, if there is one.
  private func begin(_ head: RequestHead, _ answer: ProxyAnswer) -> Int? {
    if head.expectsContinue { return send(answer) }
    state.withLock { state in
      state.answer = answer
      // Without a body, an answer that were sent now would end the connection: the library takes
      // it for a refusal to read the body. The call at the end of the request follows at once.
      state.phase = head.hasBody ? .dropping(answer) : .waiting
    }
    return 0
  }

  private func beginPage(_ head: RequestHead, _ path: String) -> Int? {
    guard head.method == .get || head.method == .head else {
      return begin(head, OwnAnswers.refusal(RequestRefusal(405, "pages are for GET and HEAD")))
    }
    guard !head.hasBody else {
      return send(OwnAnswers.refusal(RequestRefusal(400, "a request for a page has no body")))
    }
    state.withLock { $0.phase = .waiting }
    start { [core] in OwnAnswers.page(core.pages?.answer(path: path)) }
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
      state.upload.awaitsContinue = head.expectsContinue
      state.phase = .startingUpload(head)
    }
    fetch(request, .stream(length: length, UploadSource(self)))
    return afterStart(head)
  }

  /// Lets the body come once the origin wants it, or an answer is there without it.
  private func afterStart(_ head: RequestHead) -> Int? {
    let early: ProxyAnswer? = state.withLock { state in
      if let answer = state.answer, state.upload.isClosed, state.early == nil {
        // The client that waits for leave to send its body is spared it.
        if head.expectsContinue { return answer }
        state.phase = .dropping(answer)
      } else if state.upload.isWanted || state.answer != nil {
        state.phase = .uploading
      } else {
        suspend(&state)
      }
      return nil
    }
    if let early { return send(early) }
    return 0
  }

  /// Answers at once from the store, else begins to look for the answer.
  private func answer(_ request: HTTPRequest, _ body: RequestBody?) -> Int? {
    let stored = body == nil ? core.backend.storedAnswer(to: request) : nil
    if let stored, !stored.isStreamed { return send(stored) }
    state.withLock { $0.phase = .waiting }
    // A task has to give the pieces of a stream, even where the answer is there.
    if let stored { start { stored } } else { fetch(request, body) }
    return sendOrWait()
  }

  /// Sends the answer if it is there; else leaves the connection alone until it is.
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
