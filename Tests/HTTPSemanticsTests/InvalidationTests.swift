import HTTPSemantics
import Testing

struct InvalidationTests {
  private func targets(
    _ method: String, _ status: Int, _ fields: HTTPFields = []
  ) throws -> [String] {
    let request = HTTPRequest(
      method: HTTPMethod(rawValue: method), url: try NormalizedURL("http://h/a/b?c"))
    return Invalidation.targets(
      of: request, answered: HTTPResponseHead(status: status, fields: fields)
    ).map(\.string)
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get", "CONNECT", "X"])
  func `an unsafe or unknown method invalidates its target`(method: String) throws {
    #expect(try targets(method, 200) == ["http://h/a/b?c"])
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY"])
  func `a safe method invalidates nothing`(method: String) throws {
    #expect(try targets(method, 200, [HTTPField("Location", "/x")]) == [])
  }

  @Test(arguments: [
    (100, false), (199, false), (200, true), (204, true), (302, true), (399, true), (400, false),
    (412, false), (500, false), (599, false), (999, false),
  ])
  func `only an answer that is no error invalidates`(status: Int, invalidates: Bool) throws {
    #expect(try targets("POST", status, [HTTPField("Location", "/x")]).isEmpty != invalidates)
  }

  @Test func `Location and Content-Location of the same origin are invalidated`() throws {
    let found = try targets(
      "POST", 201,
      [HTTPField("location", "x"), HTTPField("Content-Location", "http://H:80/y#z")])
    #expect(found == ["http://h/a/b?c", "http://h/a/x", "http://h/y"])
  }

  @Test(arguments: [
    "http://other/x", "https://h/x", "http://h:81/x", "//other/x", "mailto:x", "http://", "\u{1}",
    "", "b?c",
  ])
  func `another origin, the same URL or no URL adds nothing`(location: String) throws {
    for name in ["Location", "Content-Location"] {
      #expect(try targets("PUT", 200, [HTTPField(name, location)]) == ["http://h/a/b?c"])
    }
  }
}
