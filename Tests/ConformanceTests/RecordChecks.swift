import HTTPSemantics

/// Holds what the origin saw against what a case expects, in the order of the public suite.
struct RecordChecks {
  let test: ConformanceCase
  /// Gives the answers in the order of the exchanges; nil where there was none.
  let answers: [ReceivedAnswer?]

  /// Throws at the first check that fails.
  func check(_ records: [ScriptedOrigin.Record]) throws(CheckFailure) {
    var remaining = relevant(records)[...]
    for (index, exchange) in test.exchanges.enumerated() {
      // The origin never sees a request that is answered from the store.
      if exchange.expected.source == .cached || exchange.expected.source == .failed { continue }
      let record = remaining.popFirst()
      try checkRequest(exchange, number: index + 1, record)
      if let record, let answer = answers[index] {
        try checkArrival(record, answer, number: index + 1)
      }
    }
    if let wanted = test.originRequests {
      try CheckFailure.unless(
        records.count == wanted, isSetup: false,
        "the origin saw \(records.count) requests, not \(wanted)")
    }
  }

  /// Leaves out what was tried for a request that had to fail, and all but the last try of one that
  /// may be sent again.
  private func relevant(_ records: [ScriptedOrigin.Record]) -> [ScriptedOrigin.Record] {
    records.enumerated().filter { index, record in
      let isRepeated = records[(index + 1)...].contains { $0.number == record.number }
      let hadToFail = test.exchanges[record.number - 1].expected.source == .failed
      return !hadToFail && !(test.mayRetry && isRepeated)
    }.map(\.element)
  }

  private func checkRequest(
    _ exchange: Exchange, number: Int, _ record: ScriptedOrigin.Record?
  ) throws(CheckFailure) {
    let expected = exchange.expected
    let isTypeSetup = exchange.isSetup("expected_type")
    let place = "request \(number) at the origin"
    func value(_ name: String) -> String? {
      record?.request.fields.combinedValue(of: name).map { String(decoding: $0, as: UTF8.self) }
    }
    if expected.source == .notCached {
      try CheckFailure.unless(
        record?.number == number, isSetup: isTypeSetup, "request \(number) was not sent")
    }
    let condition = Self.condition(of: expected.source)
    if let condition {
      try CheckFailure.unless(
        value(condition) != nil, isSetup: isTypeSetup, "\(place) lacks \(condition)")
    }
    for check in expected.requestFields {
      try AnswerChecks.check(
        check, value: value, now: 0, isSetup: exchange.isSetup("expected_request_headers"),
        place: place)
    }
    for name in expected.missingRequestFields {
      try CheckFailure.unless(
        value(name) == nil, isSetup: exchange.isSetup("expected_request_headers_missing"),
        "\(place) has \(name)")
    }
    if let method = expected.method {
      try CheckFailure.unless(
        record?.request.method.rawValue == method, isSetup: exchange.isSetup("expected_method"),
        "\(place) has the method \(record?.request.method.rawValue ?? "(none)"), not \(method)")
    }
  }

  private static func condition(of source: Expectation.Source?) -> String? {
    switch source {
    case .etagValidated: "If-None-Match"
    case .lastModifiedValidated: "If-Modified-Since"
    default: nil
    }
  }

  /// Checks that the origin's fields reached the client unchanged; Date may be the cache's own.
  private func checkArrival(
    _ record: ScriptedOrigin.Record, _ answer: ReceivedAnswer, number: Int
  ) throws(CheckFailure) {
    let sent = HTTPFields(record.recordedFields)
    for field in sent where !field.isNamed("Date") {
      let wanted = sent.combinedValue(of: field.name).map { String(decoding: $0, as: UTF8.self) }
      let got = answer.value(of: field.name)
      try CheckFailure.unless(
        got == wanted, isSetup: true,
        "answer \(number) has \(field.name): \(got ?? "(absent)"), not \(wanted ?? "")")
    }
  }
}
