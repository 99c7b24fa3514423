import HTTPSemantics
import Testing

@testable import CachingClient

struct CachingRulesTests {
  private func request(_ fields: HTTPFields = [], method: HTTPMethod = .get) throws -> HTTPRequest {
    HTTPRequest(method: method, url: try NormalizedURL("http://h/"), fields: fields)
  }

  private func facts(
    _ head: HTTPResponseHead, version: String = "1.1", isDecoded: Bool = false
  ) -> CachingRules.AnswerFacts {
    CachingRules.AnswerFacts(head: head, version: version, isDecoded: isDecoded)
  }

  @Test("a coded body whose cut would go unnoticed is not stored")
  func unknownEnd() throws {
    let open = HTTPResponseHead(status: 200, fields: [HTTPField("Content-Encoding", "gzip")])
    for version in ["1.0", "1.1"] {
      let facts = facts(open, version: version, isDecoded: true)
      #expect(CachingRules.mayStore(try request(), facts) == .unknownEnd)
    }
    #expect(CachingRules.mayStore(try request(), facts(open, version: "2", isDecoded: true)) == nil)
    #expect(CachingRules.mayStore(try request(), facts(open, isDecoded: false)) == nil)
    for field in [HTTPField("Content-Length", "9"), HTTPField("Transfer-Encoding", "chunked")] {
      var framed = open
      framed.fields.append(field)
      #expect(CachingRules.mayStore(try request(), facts(framed, isDecoded: true)) == nil)
    }
  }

  @Test("a plain answer with the status 200 to a plain GET may be stored")
  func plain() throws {
    let head = HTTPResponseHead(status: 200, fields: [HTTPField("Vary", "Accept-Encoding")])
    #expect(CachingRules.mayStore(try request(), facts(head)) == nil)
    #expect(CachingRules.mayStore(try request([HTTPField("X-A", "1")]), facts(head)) == nil)
  }

  @Test("another method is no matter for the store", arguments: ["HEAD", "POST", "get", "DELETE"])
  func methods(name: String) throws {
    let request = try request(method: HTTPMethod(rawValue: name))
    #expect(CachingRules.bypass(request) == .method(name))
    #expect(
      CachingRules.mayStore(request, facts(HTTPResponseHead(status: 200)))
        == .bypassed(.method(name)))
  }

  @Test(
    "a request that chooses its answer is no matter for the store",
    arguments: [
      "Authorization", "Cookie", "Range", "If-Range", "If-Match", "If-None-Match",
      "If-Modified-Since", "If-Unmodified-Since", "Accept-Encoding",
    ])
  func fields(name: String) throws {
    let request = try request([HTTPField(name.lowercased(), "x")])
    #expect(CachingRules.bypass(request) == .field(name))
  }

  @Test("no other status is stored", arguments: [201, 203, 204, 206, 301, 304, 404, 500])
  func status(status: Int) throws {
    #expect(
      CachingRules.mayStore(try request(), facts(HTTPResponseHead(status: status)))
        == .status(status))
  }

  @Test(
    "an answer that was chosen by a field of the request is neither stored nor used",
    arguments: [
      ("*", "*"), ("Accept-Language", "Accept-Language"), ("x, accept-language", "accept-language"),
      ("x,,\taccept-language ,y", "accept-language"),
    ])
  func vary(value: String, field: String) throws {
    let request = try request([HTTPField("ACCEPT-Language", "de")])
    let head = HTTPResponseHead(
      status: 200, fields: [HTTPField("Vary", "Origin"), HTTPField("vary", value)])
    #expect(CachingRules.mayStore(request, facts(head)) == .varies(field: field))
    #expect(CachingRules.mayUse(request, stored: head) == .otherVariant(field: field))
  }

  @Test("what is about a connection or a session is not stored")
  func storedFields() {
    let fields: HTTPFields = [
      HTTPField("Content-Type", "text/plain"), HTTPField("Set-Cookie", "a=1"),
      HTTPField("connection", "close, X-Hop"), HTTPField("x-hop", "1"),
      HTTPField("Keep-Alive", "1"), HTTPField("Transfer-Encoding", "chunked"),
      HTTPField("Trailer", "X"), HTTPField("ETag", "\"1\""), HTTPField("X-A", "1"),
      HTTPField("x-a", "2"),
    ]
    #expect(
      CachingRules.storedFields(fields) == [
        HTTPField("Content-Type", "text/plain"), HTTPField("ETag", "\"1\""), HTTPField("X-A", "1"),
        HTTPField("x-a", "2"),
      ])
  }

  @Test("the fields of a decoded body do not describe the coded one")
  func decoded() {
    let head = HTTPResponseHead(
      status: 200,
      fields: [
        HTTPField("content-encoding", "gzip"), HTTPField("Content-Length", "5"),
        HTTPField("X", "1"),
      ])
    #expect(CachingRules.decoded(head).fields == [HTTPField("X", "1")])
  }
}
