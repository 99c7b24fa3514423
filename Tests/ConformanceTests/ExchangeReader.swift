/// Reads one request of a case from its JSON object.
struct ExchangeReader {
  private let object: CaseFile.Object
  private let place: String

  private static let knownMembers: Set<String> = [
    "setup", "setup_tests", "pause_after", "request_method", "request_headers", "request_body",
    "filename", "query_arg", "cache", "redirect", "magic_ims", "rfc850date", "response_status",
    "response_headers", "response_body", "interim_responses", "disconnect", "response_pause",
    "magic_locations", "expected_type", "expected_status", "expected_response_headers",
    "expected_response_headers_missing", "expected_interim_responses", "check_body",
    "expected_response_text", "expected_request_headers", "expected_request_headers_missing",
    "expected_method", "expected_response_values_missing",
  ]

  /// Keeps the object for ``exchange()``.
  ///
  /// - Throws: ``CaseFile/Malformed`` when it has a member that is not known.
  init(_ object: CaseFile.Object, place: String) throws {
    self.object = object
    self.place = place
    try CaseFile.refuseUnknown(object, known: Self.knownMembers, place)
  }

  func exchange() throws -> Exchange {
    var exchange = Exchange()
    try readRequest(into: &exchange)
    try readAnswer(into: &exchange)
    try readExpectation(into: &exchange.expected)
    exchange.isSetup = flag("setup")
    exchange.setupChecks = Set(object["setup_tests"] as? [String] ?? [])
    return exchange
  }

  private func readRequest(into exchange: inout Exchange) throws {
    exchange.method = text("request_method") ?? "GET"
    exchange.requestFields = try lines("request_headers")
    exchange.requestBody = text("request_body")
    exchange.filename = text("filename")
    exchange.query = text("query_arg")
    exchange.datesFollowAnswer = flag("magic_ims")
    exchange.rfc850Fields = Set((object["rfc850date"] as? [String] ?? []).map { $0.lowercased() })
    exchange.pauseAfter = try pause("pause_after", whenTrue: 3)
    if let mode = text("cache") {
      guard mode == "no-cache" else { throw CaseFile.Malformed(place, "cache mode \(mode)") }
      exchange.isReload = true
    }
  }

  private func readAnswer(into exchange: inout Exchange) throws {
    exchange.status = (object["response_status"] as? [Any])?.first as? Int
    exchange.responseFields = try lines("response_headers")
    exchange.body = text("response_body")
    exchange.interim = try interim("interim_responses") ?? []
    exchange.disconnects = flag("disconnect")
    exchange.originPause = try pause("response_pause", whenTrue: 0)
    exchange.hasRelativeLocations = flag("magic_locations")
  }

  private func readExpectation(into expected: inout Expectation) throws {
    if let name = text("expected_type") {
      expected.source = try CaseFile.require(.init(rawValue: name), place, "type \(name)")
    }
    if let status = object["expected_status"] {
      expected.status = (status as? Int).map { .exactly($0) } ?? .any
    }
    expected.responseFields = try fieldChecks("expected_response_headers")
    expected.missingResponseFields = names("expected_response_headers_missing")
    expected.missingResponseValues = try lines("expected_response_values_missing")
    expected.interim = try interim("expected_interim_responses")
    expected.checksBody = object["check_body"] as? Bool ?? true
    expected.text = text("expected_response_text")
    expected.requestFields = try fieldChecks("expected_request_headers")
    expected.missingRequestFields = names("expected_request_headers_missing")
    expected.method = text("expected_method")
  }

  private func text(_ member: String) -> String? { object[member] as? String }

  private func flag(_ member: String) -> Bool { object[member] as? Bool ?? false }

  /// Returns those items that are names; pairs are in the public data, but mean nothing there.
  private func names(_ member: String) -> [String] {
    (object[member] as? [Any] ?? []).compactMap { $0 as? String }
  }

  /// Returns a number of seconds; `true` stands for the suite's own.
  private func pause(_ member: String, whenTrue seconds: Int) throws -> Int {
    switch object[member] {
    case nil: return 0
    case let number as Int where number > 1: return number
    case let flag as Bool: return flag ? seconds : 0
    default: throw CaseFile.Malformed(place, member)
    }
  }

  private func lines(_ member: String) throws -> [FieldLine] {
    try (object[member] as? [Any] ?? []).map(line)
  }

  private func line(_ json: Any) throws -> FieldLine {
    guard let items = json as? [Any], items.count >= 2, let name = items[0] as? String else {
      throw CaseFile.Malformed(place, "\(json) is no field")
    }
    let isRecorded = items.count < 3 || items[2] as? Bool == true
    if let text = items[1] as? String {
      return FieldLine(name: name, value: .text(text), isRecorded: isRecorded)
    }
    guard let seconds = items[1] as? Int else {
      throw CaseFile.Malformed(place, "\(json) is no field")
    }
    return FieldLine(name: name, value: .secondsFromNow(seconds), isRecorded: isRecorded)
  }

  private func fieldChecks(_ member: String) throws -> [Expectation.FieldCheck] {
    try (object[member] as? [Any] ?? []).map { json in
      if let name = json as? String { return .present(name) }
      guard let items = json as? [Any], items.count == 3 else { return .equal(try line(json)) }
      guard let name = items[0] as? String, items[1] as? String == ">", let bound = items[2] as? Int
      else { throw CaseFile.Malformed(place, "\(json) is no check of a field") }
      return .greater(name, than: bound)
    }
  }

  private func interim(_ member: String) throws -> [InterimAnswer]? {
    try (object[member] as? [[Any]])?.map { items in
      let status = try CaseFile.require(items.first as? Int, place, member)
      let fields = items.count > 1 ? items[1] as? [Any] ?? [] : []
      return InterimAnswer(status: status, fields: try fields.map(line))
    }
  }
}
