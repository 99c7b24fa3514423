import Testing
import TransportTesting

@testable import HTTPTransports

struct RedirectionTests {
  private func next(
    _ status: Int, _ location: String?, method: String = "GET", _ fields: HTTPFields = [],
    body: RequestBody? = nil, from url: String = "http://a.test/x", allowsInsecure: Bool = false
  ) throws -> (request: HTTPRequest, body: RequestBody?)? {
    let request = HTTPRequest(
      method: HTTPMethod(rawValue: method), url: try NormalizedURL(url), fields: fields)
    let head = HTTPResponseHead(
      status: status, fields: HTTPFields(location.map { [HTTPField("Location", $0)] } ?? []))
    return try Redirection.next(
      after: head, to: request, body, body.repeated, allowsInsecure: allowsInsecure)
  }

  @Test func `only the statuses of redirects, and only with a Location, lead on`() throws {
    let leading = try (100..<600).filter { try next($0, "/y") != nil }
    #expect(leading == [301, 302, 303, 307, 308])
    #expect(try next(302, nil) == nil)
    #expect(try next(302, "mailto:a@b") == nil && next(302, "http://[") == nil)
    #expect(try next(302, "../y?z#f")?.request.url.string == "http://a.test/y?z")
  }

  @Test(
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
      (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"),
      (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"), (303, "GET", "GET"),
    ])
  func `a method that changes loses its content and the fields about it`(
    status: Int, method: String, expected: String
  ) throws {
    let fields: HTTPFields = [
      HTTPField("content-type", "text/plain"), HTTPField("Content-Length", "1"),
      HTTPField("Expect", "100-continue"), HTTPField("Accept", "x"),
    ]
    let found = try #require(try next(status, "/y", method: method, fields, body: .bytes([1])))
    #expect(found.request.method.rawValue == expected)
    let isKept = expected == method
    #expect(found.request.fields.count == (isKept ? 4 : 1))
    #expect((found.body != nil) == isKept)
  }

  @Test func `a stream that cannot be sent again is not sent to another place`() throws {
    let stream = RequestBody.stream(length: nil, ScriptedSource.of([]))
    #expect(try next(307, "/y", method: "POST", body: stream) == nil)
    #expect(try next(303, "/y", method: "POST", body: stream)?.body == nil)
    #expect(try next(303, "/y", method: "POST", body: stream)?.request.method == .get)
  }

  @Test func `another origin gets no credentials, nor any field that might be one`() throws {
    let fields: HTTPFields = [
      HTTPField("Authorization", "Basic x"), HTTPField("cookie", "a=b"), HTTPField("X-Token", "s"),
      HTTPField("accept", "text/html"), HTTPField("Accept-Language", "de"),
    ]
    for place in ["http://b.test/", "https://a.test/", "http://a.test:81/"] {
      let names = try next(302, place, fields)?.request.fields.map { $0.name.lowercased() }
      #expect(names == ["accept", "accept-language"], "\(place)")
    }
    #expect(try next(302, "http://a.test:80/y", fields)?.request.fields == fields)
  }

  @Test func `a redirect from https to http is an error, unless it is allowed`() throws {
    let url = "https://a.test/x"
    #expect(throws: TransportError(.insecureRedirect, url: url)) {
      try next(302, "http://a.test/", from: url)
    }
    #expect(try next(302, "http://a.test/", from: url, allowsInsecure: true) != nil)
    #expect(try next(302, "https://a.test/", from: url) != nil)
    #expect(try next(302, "https://a.test/") != nil, "from http to https")
    #expect(try next(404, "http://a.test/", from: url) == nil)
  }

  @Test func `a target that cannot be fetched is a fault`() throws {
    let url = try NormalizedURL("http://a.test/")
    func fault(_ status: Int, _ location: String) -> InvalidURL? {
      let fields: HTTPFields = [HTTPField("Location", location)]
      return Redirection.fault(HTTPResponseHead(status: status, fields: fields), from: url)
    }
    #expect(fault(302, "file:///etc/passwd")?.code == .unsupportedScheme)
    #expect(fault(302, "/fine") == nil && fault(200, "file:///x") == nil)
  }
}
