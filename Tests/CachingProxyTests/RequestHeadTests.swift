import HTTPSemantics
import Testing

@testable import CachingProxy

/// Reads a head of these lines, with a `Host` in front.
private func head(
  _ fields: [(String, String)], host: String? = "a", method: String = "GET", target: String = "/",
  version: String = "HTTP/1.1"
) throws(RequestRefusal) -> RequestHead {
  let all = (host.map { [("Host", $0)] } ?? []) + fields
  return try RequestHead(
    method: method, target: Array(target.utf8), version: version,
    fields: all.map { HTTPField($0.0, $0.1) })
}

@Suite("The head of a request") struct RequestHeadTests {
  @Test func `keeps fields in their order, with duplicates apart and without spaces behind`() throws
  {
    let head = try head([("A", "1 \t"), ("B", ""), ("a", "2")])
    #expect(
      head.fields == [
        HTTPField("Host", "a"), HTTPField("A", "1"), HTTPField("B", ""), HTTPField("a", "2"),
      ])
  }

  @Test(
    arguments: [
      ([], .none), ([("Content-Length", "0")], .length(0)),
      ([("content-length", "12")], .length(12)),
      ([("Content-Length", "9223372036854775807")], .length(9_223_372_036_854_775_807)),
      ([("Transfer-Encoding", "Chunked")], .chunked),
    ] as [([(String, String)], RequestHead.Framing)])
  func `frames a body`(fields: [(String, String)], framing: RequestHead.Framing) throws {
    #expect(try head(fields).framing == framing)
  }

  @Test(arguments: [
    [("Content-Length", "5"), ("Content-Length", "5")], [("Content-Length", "5, 5")],
    [("Content-Length", "+5")], [("Content-Length", "-1")], [("Content-Length", "0x5")],
    [("Content-Length", "5 ")], [("Content-Length", "")],
    [("Content-Length", "9223372036854775808")],
    [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
    [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
    [("Transfer-Encoding", "identity")], [("Transfer-Encoding", "chunked ")],
    [("Transfer-Encoding", "xchunked")], [("Transfer-Encoding", "chunked, gzip")],
    [("Transfer-Encoding", "")], [("Transfer-Encoding", "chunked\u{b}")],
    [("X ", "1")], [(" X", "1")], [("", "1")], [("X", "a\u{0}b")], [("X", "a\rb")], [("X", "a\nb")],
    [("X", "\u{7f}")], [("X\u{0}", "1")], [("X:", "1")],
  ])
  func `that two could read in two ways is refused`(fields: [(String, String)]) {
    let refusal = #expect(throws: RequestRefusal.self) { try head(fields) }
    #expect(refusal?.status == 400)
  }

  @Test func `with another transfer coding is not understood`() {
    let refusal = #expect(throws: RequestRefusal.self) {
      try head([("Transfer-Encoding", "gzip, chunked")])
    }
    #expect(refusal?.status == 501)
  }

  @Test func `of HTTP/1.0 has no transfer coding`() {
    #expect(throws: RequestRefusal.self) {
      try head([("Transfer-Encoding", "chunked")], version: "HTTP/1.0")
    }
  }

  @Test(arguments: ["a", "a:80", "a.b-c_d~e:", "127.0.0.1:8080", "[::1]", "[::1]:80", "", "A"])
  func `has a Host`(host: String) throws {
    #expect(try head([], host: host).fields.first?.text == host)
  }

  @Test(arguments: [
    nil, "a/b", "a b", "a@b", "user:pw@a", "a,b", "a:b", "a:123456", ":80", "[::1", "[]", "[g::]",
    "a?b", "a#b", "a\\b", "%41", "h\u{e9}", "[::1]x",
  ])
  func `without a good Host is refused`(host: String?) {
    #expect(throws: RequestRefusal.self) { try head([], host: host) }
  }

  @Test func `with two Hosts is refused, even if they are equal`() {
    #expect(throws: RequestRefusal.self) { try head([("host", "a")]) }
    #expect(throws: RequestRefusal.self) { try head([("host", "a")], version: "HTTP/1.0") }
  }

  @Test func `of HTTP/1.0 needs no Host`() throws {
    #expect(try head([], host: nil, version: "HTTP/1.0").isHTTP11 == false)
  }

  @Test func `escapes what is not ASCII in the target, byte by byte`() throws {
    let target = Array("/a?b=".utf8) + [0xC3, 0xA9, 0xFF, 0x80]
    let head = try RequestHead(
      method: "GET", target: target, version: "HTTP/1.1", fields: [HTTPField("Host", "a")])
    #expect(head.target == "/a?b=%C3%A9%FF%80")
  }

  @Test(arguments: ["/a b", "/a\tb", "/a\u{0}b", "/a\u{7f}", "/a#b", "/a\r"])
  func `with such a target is refused`(target: String) {
    #expect(throws: RequestRefusal.self) { try head([], target: target) }
  }

  @Test(arguments: ["", "G ET", "GET\u{0}", "G:T", "GÉT"])
  func `with such a method is refused`(method: String) {
    #expect(throws: RequestRefusal.self) { try head([], method: method) }
  }

  @Test func `expects to be told to go on only with a body and in HTTP/1.1`() throws {
    let expect = ("Expect", "100-Continue")
    #expect(try head([expect, ("Content-Length", "1")]).expectsContinue)
    #expect(try !head([expect]).expectsContinue)
    #expect(
      try !head([expect, ("Content-Length", "1")], version: "HTTP/1.0").expectsContinue)
    #expect(try !head([("Content-Length", "1")]).expectsContinue)
  }
}
