import CacheSystem
import Synchronization

/// Answers from a script instead of a network, and notes what it was asked.
package final class ScriptedTransport: HTTPTransport {
  /// An answer, what it waits for, and how its body ends.
  package struct Answer: Sendable {
    package var status = 200
    package var fields: HTTPFields = []
    package var pieces: [[UInt8]] = []
    package var end: TransportError.Code?
    package var trailers: HTTPFields = []
    package var interim: [HTTPResponseHead] = []
    /// Holds the head back.
    package var headGate: Gate?
    /// Hold the piece with this number back, or the end.
    package var gates: [Int: Gate] = [:]

    package init(_ body: String = "", status: Int = 200, fields: HTTPFields = []) {
      self.status = status
      self.fields = fields
      self.pieces = body.isEmpty ? [] : [Array(body.utf8)]
    }

    package init(_ pieces: [[UInt8]], status: Int = 200, fields: HTTPFields = []) {
      self.status = status
      self.pieces = pieces
      self.fields = fields
    }
  }

  package typealias Script = @Sendable (HTTPRequest) -> Result<Answer, TransportError>

  private struct State {
    var script: Script
    var requests: [HTTPRequest] = []
    var options: [TransportOptions] = []
    var uploads: [[UInt8]] = []
    var bodies: [ScriptedBody] = []
  }

  private let state: Mutex<State>

  package init(_ script: @escaping Script) {
    state = Mutex(State(script: script))
  }

  /// Gives the same answer to everything.
  package convenience init(_ answer: Answer) {
    self.init { _ in .success(answer) }
  }

  package var requests: [HTTPRequest] { state.withLock { $0.requests } }
  package var options: [TransportOptions] { state.withLock { $0.options } }
  package var uploads: [[UInt8]] { state.withLock { $0.uploads } }
  package var bodies: [ScriptedBody] { state.withLock { $0.bodies } }

  package func answer(_ answer: Answer) {
    set { _ in .success(answer) }
  }

  package func set(_ script: @escaping Script) {
    state.withLock { $0.script = script }
  }

  /// Fails from now on, as a machine without a network does.
  package func disconnect() {
    set { .failure(TransportError(.cannotResolve, url: $0.url.string)) }
  }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    let url = request.url.string
    let script = state.withLock { state in
      state.requests.append(request)
      state.options.append(options)
      return state.script
    }
    if let body {
      let bytes = try await body.read(url: url)
      state.withLock { $0.uploads.append(bytes) }
    }
    let answer = try script(request).get()
    for head in answer.interim { onInterim(head) }
    if let gate = answer.headGate, await !gate.pass() { throw TransportError(.cancelled, url: url) }
    let content = ScriptedBody(answer, url: url, isEmpty: request.method == .head)
    state.withLock { $0.bodies.append(content) }
    return TransportResponse(
      head: HTTPResponseHead(status: answer.status, fields: answer.fields), url: request.url,
      body: content)
  }
}

extension RequestBody {
  /// Reads the content to its end.
  func read(url: String) async throws(TransportError) -> [UInt8] {
    switch self {
    case .bytes(let bytes): return bytes
    case .stream(_, let source):
      do {
        var bytes: [UInt8] = []
        while let piece = try await source.next() { bytes += piece }
        return bytes
      } catch {
        throw TransportError(.requestBodyFailed, url: url)
      }
    }
  }
}

/// Gives the pieces of a script.
package final class ScriptedBody: TransportBody {
  private struct State {
    var taken = 0
    var isCancelled = false
    var isOver = false
    var waiting: Promise<Bool>?
  }

  private let answer: ScriptedTransport.Answer
  private let pieces: [[UInt8]]
  private let url: String
  private let state = Mutex(State())

  package init(_ answer: ScriptedTransport.Answer, url: String, isEmpty: Bool = false) {
    self.answer = answer
    pieces = isEmpty ? [] : answer.pieces
    self.url = url
  }

  /// Counts the pieces that were asked for.
  package var taken: Int { state.withLock { $0.taken } }
  package var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// Tells whether somebody waits at a gate.
  package var isWaiting: Bool { state.withLock { $0.waiting != nil } }
  package var trailers: HTTPFields { state.withLock { $0.isOver } ? answer.trailers : [] }

  package func next() async throws(TransportError) -> [UInt8]? {
    let number = taken
    if let gate = answer.gates[number] {
      let promise = Promise<Bool>()
      state.withLock { state in
        if state.isCancelled { promise.settle(false) }
        state.waiting = promise
      }
      gate.whenOpen { promise.settle(true) }
      _ = await promise.value()
      state.withLock { $0.waiting = nil }
    }
    if isCancelled { throw TransportError(.cancelled, url: url) }
    if number < pieces.count {
      state.withLock { $0.taken += 1 }
      return pieces[number]
    }
    if let end = answer.end { throw TransportError(end, url: url) }
    state.withLock { $0.isOver = true }
    return nil
  }

  package func cancel() {
    let waiting = state.withLock { state in
      if !state.isOver { state.isCancelled = true }
      return state.waiting
    }
    waiting?.settle(false)
  }
}

/// Gives pieces as the content of a request.
package actor ScriptedSource: RequestBodySource {
  private var pieces: [[UInt8]]

  package init(_ pieces: [[UInt8]]) {
    self.pieces = pieces.reversed()
  }

  package func next() async throws -> [UInt8]? { pieces.popLast() }
}
