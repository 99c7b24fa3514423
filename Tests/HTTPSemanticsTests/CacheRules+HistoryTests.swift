import HTTPSemantics
import Testing

struct CacheRulesHistoryTests {
  private let history = CacheRules.withHistory

  private func remembers(
    _ reason: NotStoredReason, _ rules: CacheRules, status: Int = 200, method: HTTPMethod = .get
  ) throws -> Bool {
    rules.mayRemember(
      HTTPResponseHead(status: status, fields: []), to: try Stored.get(method: method),
      notStored: reason)
  }

  @Test func `only a private cache that is told so has a history`() {
    var shared = CacheRules.shared
    shared.keepsHistory = true
    #expect(history.hasHistory && !shared.hasHistory && !CacheRules().hasHistory)
    #expect(history.mayRemember(whatStatusReplaces: 404))
    #expect(!shared.mayRemember(whatStatusReplaces: 404))
    #expect(!CacheRules().mayRemember(whatStatusReplaces: 410))
  }

  @Test func `what lacks a lifetime or has Vary * is remembered, and no-store only on request`()
    throws
  {
    var keeping = history
    keeping.keepsNoStore = true
    for rules in [history, keeping] {
      #expect(try remembers(.noExplicitFreshness(200), rules))
      #expect(try remembers(.varyAll, rules))
    }
    for reason in [NotStoredReason.noStoreRequest, .noStoreResponse] {
      #expect(try !remembers(reason, history))
      #expect(try remembers(reason, keeping))
    }
    let others: [NotStoredReason] = [
      .method("GET"), .requestBody, .status(200), .privateResponse, .authorization, .setCookie,
      .cookie, .notUnderstood(200), .endless, .partNotRequested,
    ]
    for reason in others { #expect(try !remembers(reason, keeping), "\(reason)") }
  }

  @Test func `an error, a part, a 304 and an answer to another method are not remembered`() throws {
    let reason = NotStoredReason.varyAll
    for status in [100, 199, 206, 304, 400, 404, 500] {
      #expect(try !remembers(reason, history, status: status), "\(status)")
    }
    for status in [200, 204, 301, 307, 399] {
      #expect(try remembers(reason, history, status: status), "\(status)")
    }
    #expect(try !remembers(reason, history, method: .head))
    #expect(try !remembers(reason, history, method: .post))
  }

  @Test(arguments: [200, 304, 403, 404, 410, 500])
  func `only a page that is gone leaves its predecessor in the history`(status: Int) {
    #expect(history.mayRemember(whatStatusReplaces: status) == [404, 410].contains(status))
  }

  @Test(arguments: [
    ("", "", true), ("max-age=0", "", true), ("no-cache", "", false),
    ("no-cache=\"Set-Cookie\"", "", true), ("must-revalidate", "", false),
    ("proxy-revalidate", "", true), ("", "no-cache", false), ("", "max-age=0", true),
  ])
  func `the history does not answer where the origin has to consent`(
    response: String, request: String, isAllowed: Bool
  ) {
    #expect(history.mayRecall(stored(cacheControl(response)), for: asking(request)) == isAllowed)
  }
}
