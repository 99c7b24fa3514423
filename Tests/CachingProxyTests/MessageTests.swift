import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite struct `The identity of a proxy` {
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

@Suite struct `Max-Forwards` {
  private func outcome(_ method: String, _ value: String) throws -> MaxForwards.Outcome {
    MaxForwards.apply(
      to: try RequestHead(
        method: method, target: Array("/".utf8), version: "HTTP/1.1",
        fields: [HTTPField("Host", "a"), HTTPField("Max-Forwards", value)]))
  }

  @Test(arguments: [
    ("OPTIONS", "2", "1"), ("TRACE", "1", "0"), ("GET", "0", "0"), ("OPTIONS", "x", "x"),
    ("OPTIONS", "-1", "-1"),
  ])
  func `is counted down where it counts`(method: String, value: String, next: String) throws {
    guard case .forward(let head) = try outcome(method, value) else {
      Issue.record("it was not forwarded")
      return
    }
    #expect(head.fields.first(named: "Max-Forwards")?.text == next)
  }

  @Test(arguments: [("OPTIONS", 200), ("TRACE", 405)])
  func `at its end keeps the request here`(method: String, status: Int) throws {
    guard case .answer(let answer) = try outcome(method, "0") else {
      Issue.record("it was forwarded")
      return
    }
    #expect(answer.head.status == status)
    #expect(answer.head.fields.contains("Allow"))
  }
}

@Suite struct `A target that is shown` {
  @Test(arguments: [
    ("/a", "/a"), ("/a@b", "b"), ("http://u:p@a/b", "http://a/b"), ("u:p@a:443", "a:443"),
    ("http://u:p@x@a/", "http://a/"), ("ftp://u:p@a", "ftp://a"), ("*", "*"), ("", ""),
    ("http://u:p/w@a/", "http://a/"), ("//u:p@a/", "a/"),
  ])
  func `has no credentials`(target: String, shown: String) {
    #expect(TargetText.withoutCredentials(Array(target.utf8)) == shown)
  }

  @Test func `is not endless`() {
    let shown = TargetText.withoutCredentials([UInt8](repeating: 97, count: 100_000))
    #expect(shown.utf8.count == TargetText.maximumLength)
  }
}

@Suite struct `An interim answer` {
  @Test func `is written as a head of its own`() {
    let head = HTTPResponseHead(
      status: 103,
      fields: [
        HTTPField("Link", "</a>; rel=preload"), HTTPField("Link", "</b>"),
        HTTPField("Connection", "x"), HTTPField("Content-Length", "5"), HTTPField("X", "a\r\nb: c"),
      ])
    let bytes = InterimAnswer.bytes(of: head, via: "1.1 me")
    #expect(
      String(decoding: bytes ?? [], as: UTF8.self)
        == "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\nVia: 1.1 me\r\n\r\n"
    )
  }

  @Test func `that is too long is left out`() {
    let long = HTTPField("A", String(repeating: "x", count: InterimAnswer.maximumLength))
    #expect(InterimAnswer.bytes(of: HTTPResponseHead(status: 103, fields: [long]), via: "") == nil)
  }
}
