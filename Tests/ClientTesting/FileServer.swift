import Synchronization

/// Serves one file as a good server does, with validators and ranges, but for the faults it is told.
package final class FileServer: HTTPTransport {
  /// Says how one answer differs from a good one.
  package struct Fault: Sendable {
    /// Fails before any head comes.
    package var error: TransportError.Code?
    /// Answers with another status.
    package var status: Int?
    /// Replaces fields of the answer; an empty value removes one.
    package var fields: HTTPFields = []
    /// Ends the body after so many bytes, with an error.
    package var cut: Int?
    /// Ends the body after so many bytes, as if that was its end.
    package var shortens: Int?
    /// Sends the whole file, whatever range was asked for.
    package var ignoresRange = false
    /// Holds the body back after its first piece.
    package var gate: Gate?

    package init(
      error: TransportError.Code? = nil, status: Int? = nil, fields: HTTPFields = [],
      cut: Int? = nil, shortens: Int? = nil, ignoresRange: Bool = false, gate: Gate? = nil
    ) {
      self.error = error
      self.status = status
      self.fields = fields
      self.cut = cut
      self.shortens = shortens
      self.ignoresRange = ignoresRange
      self.gate = gate
    }
  }

  private struct State {
    var file: [UInt8]
    var tag = "\"1\""
    var faults: [Fault] = []
    var requests: [HTTPRequest] = []
    var sent = 0
  }

  package static let pieceBytes = 64 << 10
  private let state: Mutex<State>

  package init(_ file: [UInt8], faults: [Fault] = []) {
    state = Mutex(State(file: file, faults: faults))
  }

  package var requests: [HTTPRequest] { state.withLock { $0.requests } }
  package var ranges: [String] {
    requests.map { $0.fields.first(named: "Range")?.text ?? "" }
  }
  /// Counts the bytes of the bodies that were answered, as far as faults let them go.
  package var sent: Int { state.withLock { $0.sent } }

  package func fail(_ faults: Fault...) {
    state.withLock { $0.faults += faults }
  }

  package func change(_ file: [UInt8], tag: String) {
    state.withLock { ($0.file, $0.tag) = (file, tag) }
  }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    let (fault, file, tag) = state.withLock { state in
      state.requests.append(request)
      let fault = state.faults.isEmpty ? Fault() : state.faults.removeFirst()
      return (fault, state.file, state.tag)
    }
    if let error = fault.error { throw TransportError(error, url: request.url.string) }
    var answer = Self.answer(request, file, tag, fault)
    if request.method == .head { answer.pieces = [] }
    if let gate = fault.gate { answer.gates = [1: gate] }
    let count = answer.pieces.reduce(0) { $0 + $1.count }
    state.withLock { $0.sent += count }
    return TransportResponse(
      head: HTTPResponseHead(status: answer.status, fields: answer.fields), url: request.url,
      body: ScriptedBody(answer, url: request.url.string))
  }

  private static func answer(
    _ request: HTTPRequest, _ file: [UInt8], _ tag: String, _ fault: Fault
  ) -> ScriptedTransport.Answer {
    var fields: HTTPFields = [
      HTTPField("ETag", tag), HTTPField("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ]
    if let status = fault.status {
      return ScriptedTransport.Answer("sorry", status: status, fields: fault.applied(to: fields))
    }
    if request.fields.first(named: "If-None-Match")?.text == tag {
      return ScriptedTransport.Answer(status: 304, fields: fault.applied(to: fields))
    }
    var range = 0..<file.count
    var status = 200
    let first = request.fields.first(named: "Range")
      .flatMap { Int($0.text.dropFirst(6).dropLast(1)) }
    let condition = request.fields.first(named: "If-Range")?.text
    if let first, condition ?? tag == tag, !fault.ignoresRange {
      guard first < file.count else {
        fields.append(HTTPField("Content-Range", "bytes */\(file.count)"))
        return ScriptedTransport.Answer(status: 416, fields: fault.applied(to: fields))
      }
      range = first..<file.count
      status = 206
      fields.append(
        HTTPField("Content-Range", "bytes \(first)-\(file.count - 1)/\(file.count)"))
    }
    fields.append(HTTPField("Content-Length", "\(range.count)"))
    var content = Array(file[range])
    if let end = fault.cut ?? fault.shortens { content = Array(content.prefix(end)) }
    let pieces = stride(from: 0, to: content.count, by: pieceBytes).map {
      Array(content[$0..<min($0 + pieceBytes, content.count)])
    }
    var answer = ScriptedTransport.Answer(pieces, fields: fault.applied(to: fields))
    answer.status = status
    if fault.cut != nil { answer.end = .truncatedBody }
    return answer
  }
}

extension FileServer.Fault {
  fileprivate func applied(to fields: HTTPFields) -> HTTPFields {
    var fields = fields
    for field in self.fields {
      fields.removeAll(named: field.name)
      if !field.value.isEmpty { fields.append(field) }
    }
    return fields
  }
}
