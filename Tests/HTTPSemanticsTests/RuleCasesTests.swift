import Foundation
import HTTPSemantics
import Testing

/// Holds the rules against those cases of the public test-suite for HTTP caches that only need
/// them: one response is stored or not, and one request comes three seconds later, if at all.
///
/// Everything else of the suite is replayed against the whole client elsewhere.
struct RuleCasesTests {
  private static let suites: Set = [
    "age-parse", "auth", "cc-freshness", "cc-parse", "cc-response", "cdn-cache-control", "expires",
    "expires-parse", "heuristic", "status",
  ]

  private static let cases = PublicCase.load().filter {
    suites.contains($0.suite) && $0.isForRulesAlone
  }

  @Test(
    .enabled(if: !cases.isEmpty, "set OFFLINECACHE_SHARED to the folder with conformance"),
    arguments: cases)
  func `the rules decide as the public cases expect`(test: PublicCase) throws {
    for role in test.roles {
      var rules = CacheRules(role: role, setCookie: .keep)
      if role == .sharedCache { rules.targetedFields = CacheRules.fieldsForCDNs }
      #expect(try test.isReused(by: rules) == test.expectsReuse, "\(test.id), \(role)")
    }
  }
}

/// Holds one case with two requests of the same resource.
struct PublicCase: Sendable, CustomTestStringConvertible {
  let id: String
  let suite: String
  let roles: [CacheRules.Role]
  let isForRulesAlone: Bool
  let expectsReuse: Bool
  private let status: Int
  private let response: HTTPFields
  private let requests: [HTTPFields]
  private let pause: Int64

  var testDescription: String { id }

  /// Reads the cases below the folder that `OFFLINECACHE_SHARED` names; none without it.
  static func load() -> [PublicCase] {
    guard let shared = ProcessInfo.processInfo.environment["OFFLINECACHE_SHARED"],
      let data = try? Data(
        contentsOf: URL(filePath: shared).appending(path: "conformance/cache-tests.json")),
      let file = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
      let tests = file["tests"] as? [[String: Any]]
    else { return [] }
    return tests.compactMap { PublicCase($0) }
  }

  private init?(_ test: [String: Any]) {
    guard let id = test["id"] as? String, let suite = test["suite"] as? String,
      let modes = test["modes"] as? [String], let kind = test["kind"] as? String,
      let exchanges = test["requests"] as? [[String: Any]], let first = exchanges.first,
      let last = exchanges.last
    else { return nil }
    self.id = id
    self.suite = suite
    roles =
      (modes.contains("shared") ? [.sharedCache] : [])
      + (modes.contains("private") ? [.privateCache] : [])
    let expected = last["expected_type"] as? String
    isForRulesAlone = exchanges.count == 2 && kind != "check" && expected != nil
    expectsReuse = expected == "cached"
    status = (first["response_status"] as? [Any])?.first as? Int ?? 200
    response = Self.fields(first["response_headers"])
    requests = [Self.fields(first["request_headers"]), Self.fields(last["request_headers"])]
    pause = first["pause_after"] as? Bool == true ? 3 : 0
  }

  /// Reads names and values; a number stands for a date, relative to the receipt.
  private static func fields(_ list: Any?) -> HTTPFields {
    HTTPFields(
      (list as? [[Any]] ?? []).compactMap { pair in
        guard pair.count >= 2, let name = pair[0] as? String else { return nil }
        if let seconds = pair[1] as? Int { return HTTPField(name, date(Int64(seconds))) }
        return (pair[1] as? String).map { HTTPField(name, $0) }
      })
  }

  /// Tells whether the first response answers the second request without asking the origin.
  func isReused(by rules: CacheRules) throws -> Bool {
    let request = HTTPRequest(url: try NormalizedURL("http://a/"), fields: requests[0])
    let head = HTTPResponseHead(status: status, fields: response)
    guard rules.whyNotStored(request, head, now: received) == nil else { return false }
    let stored = StoredResponse(
      status: status, fields: rules.fieldsToStore(response, receivedAt: received),
      requestTime: received, responseTime: received, selection: .none, rules: rules)
    let directives = RequestDirectives(requests[1])
    switch rules.reuse(of: stored, for: directives, at: later(pause)) {
    case .fresh, .stale: return true
    case .mustValidate: return false
    }
  }
}
