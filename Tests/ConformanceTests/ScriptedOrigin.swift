import Foundation
import HTTPSemantics
import Synchronization
import TestSupport

/// Answers as the origin server of the public suite does, in process.
///
/// What it does is described beside the data (`README.md`); nothing here knows what a cache is.
final class ScriptedOrigin: Sendable {
  /// The name of the field with the number of a request in its case. It must be one that numbers
  /// requests: a field that nobody knows (`Req-Num`, as the suite has it) may be a credential, so the
  /// answer would not be shared.
  static let numberName = "X-Request-ID"

  /// Holds what the origin saw of one request, and the fields of its answer that must arrive.
  struct Record: Sendable {
    var number: Int
    var request: HTTPRequest
    var recordedFields: [HTTPField]
  }

  struct Answer: Sendable {
    var head: HTTPResponseHead
    var body: String
    var interim: [HTTPResponseHead]
  }

  private struct Running {
    var exchanges: [Exchange]
    var records: [Record] = []
    /// The answers' fields with their dates written out, by number of the exchange.
    var fields: [Int: [HTTPField]] = [:]
  }

  private let clock: TestClock
  private let running = Mutex<[String: Running]>([:])

  init(clock: TestClock) {
    self.clock = clock
  }

  /// Makes a case known under a token, which is the first part of its path.
  func start(_ token: String, _ exchanges: [Exchange]) {
    running.withLock { $0[token] = Running(exchanges: exchanges) }
  }

  /// Returns what was seen of a case, in its order, and forgets the case.
  func finish(_ token: String) -> [Record] {
    running.withLock { $0.removeValue(forKey: token)?.records ?? [] }
  }

  /// Returns the answer, or nil where the connection is closed without one.
  func answer(_ request: HTTPRequest) -> Answer? {
    let target = request.url.target
    let path = target.split(separator: "?").first ?? ""
    let token = String(path.split(separator: "/").dropFirst().first ?? "")
    return running.withLock { running in
      guard running[token] != nil else {
        return Answer(head: HTTPResponseHead(status: 404), body: "no such case", interim: [])
      }
      return answer(request, token: token, &running[token]!)
    }
  }

  private func answer(
    _ request: HTTPRequest, token: String, _ running: inout Running
  ) -> Answer? {
    let asked = request.fields.first(named: Self.numberName).flatMap { Int($0.text) }
    let number = asked ?? running.records.count + 1
    guard running.exchanges.indices.contains(number - 1) else {
      return Answer(head: HTTPResponseHead(status: 404), body: "no such request", interim: [])
    }
    let exchange = running.exchanges[number - 1]
    clock.advance(bySeconds: Double(exchange.originPause))
    let fields = running.fields[number] ?? written(exchange, base: request.url.target)
    running.fields[number] = fields
    running.records.append(
      Record(
        number: number, request: request,
        recordedFields: zip(exchange.responseFields, fields).filter(\.0.isRecorded).map(\.1)))
    if exchange.disconnects { return nil }
    let status = status(of: exchange, request, previous: running.fields[number - 1] ?? [])
    let body = [204, 304].contains(status) ? "" : exchange.body ?? token
    var head = HTTPResponseHead(status: status, fields: serverFields(request, running))
    for field in fields { head.fields.append(field) }
    head.fields.append(
      HTTPField("Request-Numbers", running.records.map { "\($0.number)" }.joined(separator: " ")))
    frame(&head, bodyLength: request.method == .head ? nil : body.utf8.count)
    return Answer(
      head: head, body: request.method == .head ? "" : body,
      interim: exchange.interim.map(interimHead))
  }

  /// Returns the fields of an answer with dates and locations written out.
  private func written(_ exchange: Exchange, base: String) -> [HTTPField] {
    exchange.responseFields.map { line in
      let text = DateText.text(of: line, now: clock.seconds, rfc850: exchange.rfc850Fields)
      let isLocation = ["location", "content-location"].contains(line.name.lowercased())
      guard exchange.hasRelativeLocations, isLocation else { return HTTPField(line.name, text) }
      return HTTPField(line.name, text.isEmpty ? base : "\(base)/\(text)")
    }
  }

  /// Returns the status that the case names, or the verdict on the request's conditions where the
  /// case expects some: 304, or 999 for conditions that are missing or do not hold.
  private func status(
    of exchange: Exchange, _ request: HTTPRequest, previous: [HTTPField]
  ) -> Int {
    let source = exchange.expected.source
    guard source == .etagValidated || source == .lastModifiedValidated else {
      return exchange.status ?? 200
    }
    let previous = HTTPFields(previous)
    let pairs = [("If-Modified-Since", "Last-Modified"), ("If-None-Match", "ETag")]
    let holds = pairs.contains { condition, validator in
      guard let value = previous.first(named: validator)?.value else { return false }
      return request.fields.combinedValue(of: condition) == value
    }
    return holds ? 304 : 999
  }

  private func serverFields(_ request: HTTPRequest, _ running: Running) -> HTTPFields {
    [
      HTTPField("Server-Base-Url", request.url.target),
      HTTPField("Server-Request-Count", "\(running.records.count)"),
      HTTPField("Client-Request-Count", request.fields.first(named: Self.numberName)?.text ?? ""),
      HTTPField("Server-Now", "\(clock.now() / 1_000_000)"),
    ]
  }

  /// Adds what a server has to say about the body.
  private func frame(_ head: inout HTTPResponseHead, bodyLength: Int?) {
    if !head.fields.contains("Content-Type") {
      head.fields.append(HTTPField("Content-Type", "text/plain"))
    }
    guard let bodyLength, ![204, 304].contains(head.status),
      !head.fields.contains("Content-Length")
    else { return }
    head.fields.append(HTTPField("Content-Length", "\(bodyLength)"))
  }

  private func interimHead(_ interim: InterimAnswer) -> HTTPResponseHead {
    let fields = interim.fields.map {
      HTTPField($0.name, DateText.text(of: $0, now: clock.seconds))
    }
    return HTTPResponseHead(status: interim.status, fields: HTTPFields(fields))
  }
}
