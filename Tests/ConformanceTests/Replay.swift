import HTTPSemantics
import TestSupport

/// Tells how a case ended, before other cases are looked at.
enum Outcome: Sendable, Hashable {
  case passed
  /// The cache does not do what the case asks for.
  case failed(String)
  /// The case could not be set up, which is nobody's fault.
  case setup(String)
  /// The origin got a request twice.
  case retried
}

/// Stops a case at the first check that fails.
struct CheckFailure: Error {
  var outcome: Outcome

  /// Throws unless a check holds.
  static func unless(
    _ holds: Bool, isSetup: Bool, _ text: @autoclosure () -> String
  ) throws(CheckFailure) {
    guard !holds else { return }
    throw CheckFailure(outcome: isSetup ? .setup(text()) : .failed(text()))
  }
}

/// Plays the client's side of cases against a cache.
struct Replay {
  let cache: any CacheUnderTest
  let origin: ScriptedOrigin
  let clock: TestClock
  /// Stands before each path, such as `http://origin.test`.
  var base = "http://origin.test"

  /// Plays a case.
  ///
  /// - Parameter number: Makes the URL of the case its own; the token has the 36 characters that
  ///   some cases count on.
  func outcome(of test: ConformanceCase, number: Int) async throws -> Outcome {
    let digits = "\(number)"
    let tail = String(repeating: "0", count: 12 - digits.count) + digits
    let token = "5eed0000-0000-4000-8000-\(tail)"
    origin.start(token, test.exchanges)
    var answers: [ReceivedAnswer?] = []
    do {
      for (index, exchange) in test.exchanges.enumerated() {
        let previous = answers.last ?? nil
        let request = try request(exchange, index: index, token: token, previous)
        let result = await cache.answer(request, body: exchange.requestBody)
        let checks = AnswerChecks(
          exchange: exchange, number: index + 1, token: token, mayRetry: test.mayRetry)
        try checks.check(result, at: clock)
        answers.append(try? result.get())
        await cache.settle()
        clock.advance(bySeconds: Double(exchange.pauseAfter))
      }
      try RecordChecks(test: test, answers: answers).check(origin.finish(token))
      return .passed
    } catch let failure as CheckFailure {
      await cache.settle()
      _ = origin.finish(token)
      return failure.outcome
    }
  }

  private func request(
    _ exchange: Exchange, index: Int, token: String,
    _ previous: ReceivedAnswer?
  ) throws -> HTTPRequest {
    var url = "\(base)/test/\(token)"
    if let filename = exchange.filename { url += "/\(filename)" }
    if let query = exchange.query { url += "?\(query)" }
    var fields: HTTPFields = [HTTPField(ScriptedOrigin.numberName, "\(index + 1)")]
    let serverNow = previous?.value(of: "Server-Now").flatMap(Int.init)
    let now = exchange.datesFollowAnswer ? serverNow.map { $0 / 1000 } : nil
    for line in exchange.requestFields {
      let text = DateText.text(of: line, now: now ?? clock.seconds, rfc850: exchange.rfc850Fields)
      fields.append(HTTPField(line.name, text))
    }
    addFetchFields(to: &fields, isReload: exchange.isReload)
    return HTTPRequest(
      method: HTTPMethod(rawValue: exchange.method), url: try NormalizedURL(url), fields: fields)
  }

  /// Adds what `fetch` sends by itself where the case does not say something else.
  private func addFetchFields(to fields: inout HTTPFields, isReload: Bool) {
    let coding = fields.contains("Range") ? "identity" : "gzip, deflate"
    var defaults = [("Accept", "*/*"), ("Accept-Language", "*"), ("Accept-Encoding", coding)]
    if isReload { defaults.append(("Cache-Control", "max-age=0")) }
    for (name, value) in defaults where !fields.contains(name) {
      fields.append(HTTPField(name, value))
    }
  }
}
