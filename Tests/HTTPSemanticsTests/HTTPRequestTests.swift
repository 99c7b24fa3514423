import Testing

@testable import HTTPSemantics

struct HTTPRequestTests {
  @Test(arguments: [
    ("http://a.example/", "a.example", false), ("http://a.example/", "A.example:80", false),
    ("https://a.example/", "a.example:443", false), ("http://a.example:81/", "a.example:81", false),
    ("http://[::1]:81/", "[::1]:81", false), ("http://a.example/", "b.example", true),
    ("https://a.example/", "a.example:80", true), ("http://a.example/", "", true),
    ("http://a.example:81/", "a.example", true), ("http://[::1]:81/", "[::1]", true),
  ])
  func `another Host has another name or port than the URL`(
    url: String, host: String, isAnother: Bool
  ) throws {
    let url = try NormalizedURL(url)
    #expect(HTTPRequest(url: url, fields: [HTTPField("Host", host)]).namesAnotherHost == isAnother)
    #expect(!HTTPRequest(url: url).namesAnotherHost)
  }
}
