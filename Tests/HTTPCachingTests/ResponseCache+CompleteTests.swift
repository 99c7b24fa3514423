import CacheStore
import Foundation
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheCompleteTests {
  private let whole = content(1000)

  /// A cache with the first 500 bytes.
  private func beginning(
    length: String = "1000", tag: String? = "\"1\"", _ more: [HTTPField] = [],
    mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)? = nil
  ) throws -> CacheSandbox {
    let sandbox = try CacheSandbox(mayReturnStored: mayReturnStored)
    try sandbox.loadPart(0...499, of: whole, length: length, tag: tag, more)
    return sandbox
  }

  /// The request for the rest; nil if there is none.
  private func rest(_ sandbox: CacheSandbox, _ asked: HTTPRequest = request()) -> Forwarding? {
    guard let forwarding = sandbox.forward(asked, policy: .protocolRules),
      forwarding.completing != nil
    else { return nil }
    return forwarding
  }

  @Test func `the rest is asked for if the validator still holds, and put behind the beginning`()
    throws
  {
    let sandbox = try beginning([
      HTTPField("Content-Digest", "sha-256=:AAAA:"), HTTPField("A", "old"),
    ])
    let forwarding = try #require(rest(sandbox, request("/a", [HTTPField("X", "y")])))
    #expect(
      Array(forwarding.request.fields) == [
        HTTPField("X", "y"), HTTPField("Range", "bytes=500-"), HTTPField("If-Range", "\"1\""),
      ])
    let answer = head(
      206,
      partFields(500...999, [HTTPField("A", "new"), HTTPField("Content-Digest", "sha-256=:BBBB:")]))
    guard case .pass(let passed, .yes(let plan)) = sandbox.receive(answer, forwarding) else {
      throw Unexpected()
    }
    #expect(passed.status == 200)
    #expect(passed.fields.first(named: "A")?.text == "new")
    #expect(passed.fields.first(named: "Content-Length")?.text == "1000")
    for name in ["Content-Range", "Content-Digest"] { #expect(!passed.fields.contains(name)) }
    #expect(plan.prefix?.range == 0..<500)
    _ = try plan.store(whole, in: sandbox.store)
    #expect(try sandbox.served(request())?.body == whole)
  }

  @Test func `nothing is completed for a request that may have to get something else`() throws {
    let sandbox = try beginning()
    let others = [
      request(method: "HEAD"), ranged("600-"),
      request("/a", [HTTPField("Cache-Control", "no-cache")]),
      request("/a", [HTTPField("If-None-Match", "\"2\"")]),
      request("/a", [HTTPField("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]),
    ]
    for other in others { #expect(rest(sandbox, other) == nil, "\(other)") }
    for policy in CachePolicy.allCases where policy != .protocolRules {
      #expect(sandbox.forward(request(), policy: policy)?.completing == nil, "\(policy)")
    }
    let offline = request("/a", [HTTPField("Cache-Control", "only-if-cached")])
    #expect(words(sandbox.decide(offline)) == "refuse: other parts of it are stored")
    #expect(rest(sandbox) != nil)
  }

  @Test func `only a beginning of known length and with a strong validator is completed`() throws {
    #expect(rest(try beginning(length: "*")) == nil)
    // All bytes are there.
    #expect(rest(try beginning(length: "500")) == nil)
    #expect(rest(try beginning(length: "501")) != nil)
    for tag in [nil, "W/\"1\"", "1"] { #expect(rest(try beginning(tag: tag)) == nil) }
    let sandbox = try CacheSandbox()
    try sandbox.loadPart(1...499, of: whole)
    #expect(rest(sandbox) == nil)
    #expect(rest(try beginning(mayReturnStored: { _, _ in false })) == nil)
  }

  @Test(arguments: [(100, true), (10, false)] as [(Int64, Bool)])
  func `a beginning with a date alone is completed only if that was strong when its bytes came`(
    age: Int64, isStrong: Bool
  ) throws {
    func dates(_ seconds: Int64) -> [HTTPField] {
      [
        HTTPField("Last-Modified", moment(-age).date.description),
        HTTPField("Date", moment(seconds).date.description),
      ]
    }
    let sandbox = try beginning(tag: nil, dates(0))
    #expect((rest(sandbox) != nil) == isStrong)
    // A 304 says nothing of the second in which the bytes were made.
    let asked = try #require(sandbox.forward(ranged("0-499"), policy: .revalidate))
    let fields = HTTPFields(dates(600) + [HTTPField("Cache-Control", "max-age=9")])
    guard case .validated = sandbox.receive(head(304, fields), asked) else { throw Unexpected() }
    let forwarding = rest(sandbox)
    #expect((forwarding != nil) == isStrong)
    guard let forwarding else { return }
    let answer = head(206, partFields(500...999, tag: nil, dates(700)))
    guard case .pass(_, .yes(let plan)) = sandbox.receive(answer, forwarding) else {
      throw Unexpected()
    }
    #expect(plan.response.bodyDate == moment(0).date)
    _ = try plan.store(whole, in: sandbox.store)
    #expect(try sandbox.served(request())?.body == whole)
  }

  @Test func `the Date that the cache adds makes no date strong`() throws {
    let modified = HTTPField("Last-Modified", moment(-1000).date.description)
    #expect(rest(try beginning(tag: nil, [modified])) == nil)
    let date = HTTPField("Date", moment(0).date.description)
    #expect(rest(try beginning(tag: nil, [modified, date])) != nil)
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `a part that was stored while the rest was on its way stays`(version: UInt64) throws {
    let sandbox = try beginning()
    let forwarding = try #require(rest(sandbox))
    let (body, tag) = (content(1000, seed: version), "\"\(version)\"")
    try sandbox.loadPart(0...499, of: body, tag: tag, at: 1)
    guard case .again = sandbox.receive(head(416), forwarding, at: 2) else { throw Unexpected() }
    #expect(sandbox.store.statistics.entries == 1)
    #expect(try sandbox.served(ranged("0-9"), at: 3)?.value("ETag") == tag)
  }

  @Test func `too short a beginning is not completed`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(ranged("0-499"), head(206, partFields(0...499)), content(400))
    let forwarding = try #require(rest(sandbox))
    guard case .again = sandbox.receive(head(206, partFields(500...999)), forwarding) else {
      throw Unexpected()
    }
  }

  @Test func `a beginning whose bytes are damaged is not completed`() throws {
    let sandbox = try CacheSandbox(options: Options(settling: .atOnce))
    try sandbox.loadPart(0...499, of: whole)
    let path = try #require(sandbox.bodies.first)
    try Data(content(500, seed: 2)).write(to: URL(fileURLWithPath: path))
    #expect(rest(sandbox) == nil)
    #expect(words(sandbox.decide(request())).hasPrefix("forward"))
  }

  /// What a bad server answers to the request for the rest, and whether the beginning stays.
  private static let refused: [(String, HTTPResponseHead, Bool)] = [
    ("a rest that begins later", head(206, partFields(501...999)), true),
    ("a rest that begins earlier", head(206, partFields(499...999)), true),
    ("another length", head(206, partFields(500...1000, of: "1001")), true),
    ("an unknown length, not to the end", head(206, partFields(500...998, of: "*")), true),
    ("not all of the rest", head(206, partFields(500...998)), true),
    ("another tag", head(206, partFields(500...999, tag: "\"2\"")), true),
    ("a weak tag", head(206, partFields(500...999, tag: "W/\"1\"")), true),
    ("no tag", head(206, partFields(500...999, tag: nil)), true),
    (
      "another coding",
      head(206, partFields(500...999, [HTTPField("Content-Encoding", "gzip")])), true
    ),
    (
      "several parts",
      head(206, [HTTPField("Content-Type", "multipart/byteranges; boundary=a")]), true
    ),
    (
      "two ranges", head(206, partFields(500...999, [HTTPField("Content-Range", "bytes 0-1/2")])),
      true
    ),
    (
      "a length that contradicts",
      head(206, partFields(500...999, [HTTPField("Content-Length", "7")])), true
    ),
    (
      "not for storing",
      head(206, partFields(500...999, [HTTPField("Cache-Control", "no-store")])), true
    ),
    ("Vary: *", head(206, partFields(500...999, [HTTPField("Vary", "*")])), true),
    ("no such bytes", head(416), false),
    ("a condition that nobody has set", head(304), true),
    ("a condition that failed", head(412), true),
  ]

  @Test(arguments: refused.indices)
  func `a bad answer makes the whole be asked for, once, without any condition`(index: Int) throws {
    let (name, answer, stays) = Self.refused[index]
    let sandbox = try beginning()
    let asked = request("/a", [HTTPField("X", "y")])
    let forwarding = try #require(rest(sandbox, asked))
    guard case .again(let again) = sandbox.receive(answer, forwarding) else {
      Issue.record("\(name) is believed")
      return
    }
    #expect(again.request == asked && again.completing == nil, "\(name)")
    #expect(sandbox.store.statistics.entries == (stays ? 1 : 0), "\(name)")
    // Whatever comes then is the answer.
    if case .again = sandbox.receive(answer, again) { Issue.record("\(name) goes in circles") }
  }

  @Test func `a whole answer in place of the rest is passed on and stored`() throws {
    let sandbox = try beginning()
    let newer = content(700, seed: 2)
    let forwarding = try #require(rest(sandbox))
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=9"), HTTPField("ETag", "\"2\"")]
    guard case .pass(_, .yes(let plan)) = sandbox.receive(head(200, fields), forwarding, at: 1)
    else { throw Unexpected() }
    #expect(plan.prefix == nil)
    _ = try plan.store(newer, in: sandbox.store)
    #expect(try sandbox.served(request(), at: 2)?.body == newer)
  }
}
