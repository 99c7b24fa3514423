import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct KeyRuleTests {
  @Test func `GET and HEAD of one URL have one key, however the URL is written`() throws {
    let url = try NormalizedURL("HTTP://user:secret@Example.com:80/x/../a?b#c")
    let key = KeyRule.url.key(of: HTTPRequest(url: url))
    #expect(key == "GET http://example.com/a?b")
    #expect(KeyRule.url.key(of: HTTPRequest(method: .head, url: url)) == key)
  }

  @Test(
    arguments: [
      ("/a", "/a"), ("/a?", "/a?"), ("/a?sig=1", "/a"), ("/a?sig", "/a"),
      ("/a?x=1&sig=2", "/a?x=1"),
      ("/a?sig=2&x=1&expires=3&y", "/a?x=1&y"), ("/a?signature=1", "/a?signature=1"),
      ("/a?x=sig=1", "/a?x=sig=1"), ("/a?Sig=1", "/a?Sig=1"), ("/a?x=1&&y", "/a?x=1&&y"),
      ("/a?x=1?sig=2&sig=3", "/a?x=1?sig=2"), ("/a?s%69g=1", "/a"),
    ])
  func `ignored parameters are left out, the others keep place and spelling`(
    path: String, expected: String
  ) {
    let rule = KeyRule.url(ignoringQueryParameters: ["sig", "expires"])
    #expect(rule.key(of: request(path)) == ByteString("GET http://example.com\(expected)"))
  }

  @Test func `a signed URL is answered with what another signature has loaded`() throws {
    let sandbox = try CacheSandbox(keyRule: .url(ignoringQueryParameters: ["sig"]))
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=60")]
    try sandbox.load(request("/a?v=1&sig=x"), head(200, fields), content(10))
    #expect(try sandbox.served(request("/a?v=1&sig=y"))?.body == content(10))
    #expect(try sandbox.served(request("/a?v=2&sig=x")) == nil)
  }

  @Test func `a function of the user's own makes the key`() throws {
    let sandbox = try CacheSandbox(keyRule: KeyRule { $0.url.host })
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=60")]
    try sandbox.load(request("/a"), head(200, fields), content(10))
    #expect(try sandbox.served(request("/b"))?.body == content(10))
    #expect(sandbox.cache.key(of: request("/b")) == "GET example.com")
  }
}
