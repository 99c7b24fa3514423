import HTTPSemantics
import HTTPTransport
import Synchronization

/// Answers from a script instead of a network, and notes what it was asked.
final class ScriptedTransport: HTTPTransport {
  /// An answer, and how its body ends.
  struct Answer: Sendable {
    var status = 200
    var fields: HTTPFields = []
    var pieces: [[UInt8]] = []
    var end: TransportError.Code?
    var url: NormalizedURL?
    var isDecoded = false

    init(_ body: String = "", status: Int = 200, fields: HTTPFields = []) {
      self.status = status
      self.fields = fields
      self.pieces = body.isEmpty ? [] : [Array(body.utf8)]
    }
  }

  typealias Script = @Sendable (HTTPRequest) -> Result<Answer, TransportError>

  private struct State {
    var script: Script
    var requests: [HTTPRequest] = []
    var bodies: [ScriptedBody] = []
    var options: [TransportOptions] = []
  }

  private let state: Mutex<State>

  init(_ script: @escaping Script) {
    state = Mutex(State(script: script))
  }

  /// Gives the same answer to everything.
  convenience init(_ answer: Answer) {
    self.init { _ in .success(answer) }
  }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }
  var bodies: [ScriptedBody] { state.withLock { $0.bodies } }
  var options: [TransportOptions] { state.withLock { $0.options } }

  func answer(_ answer: Answer) {
    state.withLock { $0.script = { _ in .success(answer) } }
  }

  /// Fails from now on, as a machine without a network does.
  func disconnect() {
    state.withLock { state in
      state.script = { .failure(TransportError(.cannotResolve, url: $0.url.string)) }
    }
  }

  func send(
    _ request: HTTPRequest, options: TransportOptions
  ) async throws(TransportError) -> TransportResponse {
    let script = state.withLock { state in
      state.requests.append(request)
      state.options.append(options)
      return state.script
    }
    let answer = try script(request).get()
    let body = ScriptedBody(answer, url: request.url.string)
    state.withLock { $0.bodies.append(body) }
    return TransportResponse(
      head: HTTPResponseHead(status: answer.status, fields: answer.fields),
      url: answer.url ?? request.url, isDecoded: answer.isDecoded, body: body)
  }
}

/// Gives the pieces of a script.
final class ScriptedBody: TransportBody {
  private struct State {
    var pieces: ArraySlice<[UInt8]>
    var taken = 0
    var isCancelled = false
  }

  private let end: TransportError?
  private let url: String
  private let state: Mutex<State>

  init(_ answer: ScriptedTransport.Answer, url: String) {
    self.url = url
    end = answer.end.map { TransportError($0, url: url) }
    state = Mutex(State(pieces: answer.pieces[...]))
  }

  /// Counts the pieces that were asked for.
  var taken: Int { state.withLock { $0.taken } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  var trailers: HTTPFields { [] }

  func next() async throws(TransportError) -> [UInt8]? {
    if isCancelled { throw TransportError(.cancelled, url: url) }
    let piece = state.withLock { state in
      if !state.pieces.isEmpty { state.taken += 1 }
      return state.pieces.popFirst()
    }
    if let piece { return piece }
    if let end { throw end }
    return nil
  }

  func cancel() {
    state.withLock { $0.isCancelled = true }
  }
}
