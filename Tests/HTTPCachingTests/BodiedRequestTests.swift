import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPCaching

/// Requests with a body, of which the key says nothing.
struct BodiedRequestTests {
  private let brief: HTTPFields = [
    HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""),
  ]

  @Test(arguments: ["GET", "HEAD"])
  func `the answer to a request with a body is not stored, and changes nothing that is`(
    method: String
  ) throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10))
    let decision = sandbox.decide(request(method: method), hasBody: true, at: 60)
    guard case .forward(let forwarding) = decision else { throw Unexpected() }
    let answer = head(
      200, [HTTPField("Cache-Control", "max-age=1000"), HTTPField("X-New", "2")])
    guard case .pass(_, .no(.requestBody)) = sandbox.receive(answer, forwarding, at: 60) else {
      throw Unexpected()
    }
    let stored = try #require(try sandbox.served(request(), policy: .offline, at: 60))
    #expect(stored.body == content(10))
    #expect(stored.value("X-New") == nil)
    #expect(words(sandbox.decide(request(), at: 60)).hasPrefix("forward"))
  }
}
