import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("The identity of a proxy") struct ProxyIdentityTests {
  private let identity = ProxyIdentity(pseudonym: "me")

  @Test(arguments: [
    ("1.1 me", true), ("1.0 a, HTTP/1.1  me (comment)", true), ("1.1\tme", true),
    ("1.1 men", false),
    ("1.1 a", false), ("me", false), ("1.1 a (1.1 me)", false), ("", false),
  ])
  func `is known again in Via`(value: String, isLoop: Bool) {
    #expect(identity.isLoop([HTTPField("X", "1"), HTTPField("via", value)]) == isLoop)
  }

  @Test func `differs from one proxy to the next`() {
    #expect(ProxyIdentity().pseudonym != ProxyIdentity().pseudonym)
  }

  @Test func `goes with a request, and what was for this hop does not`() throws {
    let head = try RequestHead(
      method: "POST", target: Array("/".utf8), version: "HTTP/1.1",
      fields: [
        HTTPField("Host", "a"), HTTPField("Connection", "X-Hop, close"), HTTPField("X-Hop", "1"),
        HTTPField("Keep-Alive", "1"), HTTPField("Proxy-Authorization", "Basic x"),
        HTTPField("Proxy-Connection", "x"), HTTPField("TE", "gzip"),
        HTTPField("Content-Length", "1"), HTTPField("Expect", "100-continue"),
        HTTPField("Upgrade", "x"), HTTPField("Via", "1.0 before"), HTTPField("A", "1"),
        HTTPField("a", "2"),
      ])
    let url = try NormalizedURL("http://o.test/")
    #expect(
      identity.forwarded(head, to: url)
        == HTTPRequest(
          method: HTTPMethod(rawValue: "POST"), url: url,
          fields: [
            HTTPField("Via", "1.0 before"), HTTPField("A", "1"), HTTPField("a", "2"),
            HTTPField("Via", "1.1 me"),
          ]))
  }
}
