import HTTPSemantics
import TestSupport

/// Holds one answer against what its exchange expects, in the order of the public suite.
struct AnswerChecks {
  let exchange: Exchange
  /// Counts the requests of the case from 1.
  let number: Int
  let token: String
  let mayRetry: Bool

  private var expected: Expectation { exchange.expected }

  /// Throws at the first check that fails.
  func check(
    _ result: Result<ReceivedAnswer, NoAnswer>, at clock: TestClock
  ) throws(CheckFailure) {
    if expected.source == .failed { return try checkFailed(result) }
    let answer: ReceivedAnswer
    switch result {
    case .success(let received): answer = received
    case .failure(let reason):
      throw CheckFailure(outcome: .failed("request \(number): \(reason)"))
    }
    try checkRetries(answer)
    try checkSource(answer)
    try checkStatus(answer)
    try checkFields(answer, now: clock.seconds)
    try checkInterim(answer, now: clock.seconds)
    try checkBody(answer)
  }

  /// Checks that neither store nor origin has answered.
  private func checkFailed(_ result: Result<ReceivedAnswer, NoAnswer>) throws(CheckFailure) {
    guard case .success(let answer) = result else { return }
    let isOwn = answer.value(of: "Server-Request-Count") == nil && answer.head.status >= 500
    try CheckFailure.unless(
      isOwn, isSetup: exchange.isSetup("expected_type"),
      "answer \(number) has status \(answer.head.status), where none was to be had")
  }

  private func checkRetries(_ answer: ReceivedAnswer) throws(CheckFailure) {
    let numbers = (answer.value(of: "Request-Numbers") ?? "").split(separator: " ")
    if !mayRetry && Set(numbers).count != numbers.count {
      throw CheckFailure(outcome: .retried)
    }
  }

  private func checkSource(_ answer: ReceivedAnswer) throws(CheckFailure) {
    let isSetup = exchange.isSetup("expected_type")
    let count = answer.value(of: "Server-Request-Count").flatMap(Int.init)
    switch expected.source {
    case .cached:
      let isConditionalHit = answer.head.status == 304 && count == nil
      try CheckFailure.unless(
        isConditionalHit || (count.map { $0 < number } ?? false), isSetup: isSetup,
        "answer \(number) does not come from the cache (status \(answer.head.status))")
    case .notCached:
      try CheckFailure.unless(
        count == number, isSetup: isSetup, "answer \(number) comes from the cache")
    default: break
    }
  }

  private func checkStatus(_ answer: ReceivedAnswer) throws(CheckFailure) {
    let status = answer.head.status
    if let wanted = expected.status {
      guard case .exactly(let code) = wanted else { return }
      try CheckFailure.unless(
        status == code, isSetup: exchange.isSetup("expected_status"),
        "answer \(number) has status \(status), not \(code)")
    } else if let code = exchange.status {
      try CheckFailure.unless(
        status == code, isSetup: true, "answer \(number) has status \(status), not \(code)")
    } else if status == 999 {
      try CheckFailure.unless(
        false, isSetup: exchange.isSetup("expected_type"),
        "request \(number) should have been conditional with the stored validator")
    } else {
      try CheckFailure.unless(
        status == 200, isSetup: true, "answer \(number) has status \(status), not 200")
    }
  }

  private func checkFields(_ answer: ReceivedAnswer, now: Int) throws(CheckFailure) {
    let isSetup = exchange.isSetup("expected_response_headers")
    let serverNow = answer.value(of: "Server-Now").flatMap(Int.init).map { $0 / 1000 }
    for check in expected.responseFields {
      try Self.check(
        check, value: answer.value(of:), now: serverNow ?? now, isSetup: isSetup,
        place: "answer \(number)")
    }
    let isMissingSetup = exchange.isSetup("expected_response_headers_missing")
    for name in expected.missingResponseFields {
      try CheckFailure.unless(
        answer.value(of: name) == nil, isSetup: isMissingSetup,
        "answer \(number) has the field \(name), which it must not have")
    }
    for line in expected.missingResponseValues {
      let unwanted = DateText.text(of: line, now: serverNow ?? now)
      try CheckFailure.unless(
        answer.value(of: line.name) != unwanted, isSetup: false,
        "answer \(number) has \(line.name): \(unwanted), which it must not have")
    }
  }

  /// Throws unless a field is as expected.
  static func check(
    _ check: Expectation.FieldCheck, value: (String) -> String?, now: Int, isSetup: Bool,
    place: String
  ) throws(CheckFailure) {
    switch check {
    case .present(let name):
      try CheckFailure.unless(value(name) != nil, isSetup: isSetup, "\(place) lacks \(name)")
    case .equal(let line):
      let wanted = DateText.text(of: line, now: now)
      try CheckFailure.unless(
        value(line.name) == wanted, isSetup: isSetup,
        "\(place) has \(line.name): \(value(line.name) ?? "(absent)"), not \(wanted)")
    case .greater(let name, let bound):
      try CheckFailure.unless(
        value(name).flatMap(Int.init).map { $0 > bound } ?? false, isSetup: isSetup,
        "\(place) has \(name): \(value(name) ?? "(absent)"), not more than \(bound)")
    }
  }

  private func checkInterim(_ answer: ReceivedAnswer, now: Int) throws(CheckFailure) {
    guard let wanted = expected.interim else { return }
    let isSetup = exchange.isSetup("expected_interim_responses")
    try CheckFailure.unless(
      answer.interim.map(\.status) == wanted.map(\.status), isSetup: isSetup,
      "interim answers \(answer.interim.map(\.status)), not \(wanted.map(\.status))")
    for (head, interim) in zip(answer.interim, wanted) {
      for line in interim.fields {
        try CheckFailure.unless(
          head.fields.first(named: line.name)?.text == DateText.text(of: line, now: now),
          isSetup: isSetup, "the interim answer \(interim.status) lacks \(line.name)")
      }
    }
  }

  private func checkBody(_ answer: ReceivedAnswer) throws(CheckFailure) {
    guard expected.checksBody else { return }
    let wanted: String
    var isSetup = true
    if let text = expected.text {
      wanted = text
      isSetup = exchange.isSetup("expected_response_text")
    } else if let body = exchange.body {
      wanted = body
    } else if [204, 304].contains(answer.head.status) || exchange.method == "HEAD" {
      return
    } else {
      wanted = token
    }
    try CheckFailure.unless(
      answer.body == wanted, isSetup: isSetup,
      "answer \(number) has the body \"\(answer.body)\", not \"\(wanted)\"")
  }
}
