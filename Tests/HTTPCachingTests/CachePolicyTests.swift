import HTTPSemantics
import Testing

@testable import HTTPCaching

struct CachePolicyTests {
  /// What is stored when the request comes, 100 seconds after the start.
  enum Stored: CaseIterable {
    case nothing, fresh, stale, mustRevalidate, noCache, otherVariant
  }

  private static let reasons: [Stored: String] = [
    .nothing: "nothing is stored for it",
    .stale: "the stored response must be validated: it has been stale for 90 s",
    .mustRevalidate: "the stored response must be validated: it has been stale for 90 s",
    .noCache: "the stored response must be validated: the response says no-cache",
    .otherVariant: "the stored response is for other request fields, or another login",
  ]

  private static func expected(_ policy: CachePolicy, _ stored: Stored) -> String {
    let reason = reasons[stored] ?? ""
    switch policy {
    case .reload, .reloadFromOrigin: return "forward: the policy is \(policy.rawValue)"
    case .protocolRules: return stored == .fresh ? "serve" : "forward: \(reason)"
    case .storedElseLoad:
      return stored == .fresh || stored == .stale ? "serve" : "forward: \(reason)"
    case .storedOnly: return stored == .fresh || stored == .stale ? "serve" : "refuse: \(reason)"
    case .revalidate:
      let isAbsent = stored == .nothing || stored == .otherVariant
      return isAbsent ? "forward: \(reason)" : "forward: the policy is revalidate"
    case .offline:
      let isAbsent = stored == .nothing || stored == .otherVariant
      return isAbsent ? "refuse: \(reason)" : "serve"
    }
  }

  private func sandbox(_ stored: Stored) throws -> CacheSandbox {
    let sandbox = try CacheSandbox()
    let control: String
    switch stored {
    case .nothing: return sandbox
    case .fresh, .otherVariant: control = "max-age=1000"
    case .stale: control = "max-age=10"
    case .mustRevalidate: control = "max-age=10, must-revalidate"
    case .noCache: control = "no-cache, max-age=1000"
    }
    var fields: HTTPFields = [HTTPField("Cache-Control", control), HTTPField("ETag", "\"1\"")]
    if stored == .otherVariant { fields.append(HTTPField("Vary", "Prefer")) }
    try sandbox.load(request("/a", [HTTPField("Prefer", "1")]), head(200, fields), content(10))
    return sandbox
  }

  @Test(
    arguments: CachePolicy.allCases, Stored.allCases)
  func `each policy does with each stored response what its name says`(
    policy: CachePolicy, stored: Stored
  ) throws {
    let sandbox = try sandbox(stored)
    let asked = request("/a", [HTTPField("Prefer", stored == .otherVariant ? "2" : "1")])
    let decision = sandbox.decide(asked, policy: policy, at: 100)
    #expect(words(decision) == Self.expected(policy, stored))
    if case .serve(let serving) = decision { #expect(try Served(serving).body == content(10)) }
    if case .forward(let forwarding) = decision {
      // Who wants everything anew sends no conditions, everybody else confirms what there is.
      let isAnew = policy == .reload || policy == .reloadFromOrigin || stored == .nothing
      #expect(forwarding.request.fields.contains("If-None-Match") == !isAnew)
    }
  }

  @Test func `reloadFromOrigin asks the caches on the way, too`() throws {
    let sandbox = try CacheSandbox()
    let plain = try #require(sandbox.forward(request(), policy: .reload))
    #expect(plain.request == request())
    let whole = try #require(sandbox.forward(request(), policy: .reloadFromOrigin))
    #expect(
      whole.request.fields == [
        HTTPField("Cache-Control", "no-cache"), HTTPField("Pragma", "no-cache"),
      ])
  }

  @Test
  func `what may be served stale while it is validated is so by those who may ask the network`()
    throws
  {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=10, stale-while-revalidate=100"),
      HTTPField("ETag", "\"1\""),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    for (policy, validates) in [
      (CachePolicy.protocolRules, true), (.storedElseLoad, true), (.storedOnly, false),
      (.offline, false),
    ] {
      guard case .serve(let serving) = sandbox.decide(request(), policy: policy, at: 50) else {
        Issue.record("\(policy) does not serve")
        continue
      }
      #expect((serving.revalidation != nil) == validates, "\(policy)")
    }
  }

  @Test func `revalidate takes nothing that the origin has not confirmed`() throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=1000, stale-if-error=1000"), HTTPField("ETag", "\"1\""),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    let forwarding = try #require(sandbox.forward(request(), policy: .revalidate))
    #expect(sandbox.cache.fallback(for: forwarding, now: moment(1)) == nil)
    guard case .pass(let passed, _) = sandbox.receive(head(503), forwarding, at: 1) else {
      Issue.record("the error is not handed on")
      return
    }
    #expect(passed.status == 503)
    guard case .validated = sandbox.receive(head(304), forwarding, at: 1) else {
      Issue.record("what is confirmed is not served")
      return
    }
  }
}
