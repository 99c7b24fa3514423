import HTTPSemantics
import Testing

@testable import CachingProxy

/// Routes a target through a proxy with or without an origin.
private func route(
  _ target: String, origin: String? = "http://o.test:81", method: String = "GET"
) throws -> TargetRouter.Route {
  let head = try RequestHead(
    method: method, target: Array(target.utf8), version: "HTTP/1.1",
    fields: [HTTPField("Host", "me.test")])
  return try TargetRouter(origin: origin.map { try NormalizedURL($0) }).route(head)
}

@Suite struct `The router` {
  @Test(arguments: [
    ("/", "http://o.test:81", "http://o.test:81/"),
    ("/a?b", "http://o.test:81", "http://o.test:81/a?b"),
    ("//evil.test/a", "http://o.test:81", "http://o.test:81//evil.test/a"),
    ("/a", "http://o.test/base", "http://o.test/base/a"),
    ("/a", "http://o.test/base/", "http://o.test/base/a"),
    ("/../a", "http://o.test/base", "http://o.test/base/a"),
    ("/%2e%2e/a", "http://o.test/base", "http://o.test/base/a"),
    ("http://me.test/a", "http://o.test:81", "http://o.test:81/a"),
    ("/@a", "https://o.test", "https://o.test/@a"),
    ("/.offlinecachex", "http://o.test", "http://o.test/.offlinecachex"),
  ])
  func `of a reverse proxy puts paths below the origin`(
    target: String, origin: String, url: String
  ) throws {
    #expect(try route(target, origin: origin) == .forward(try NormalizedURL(url)))
  }

  @Test(arguments: [
    ("127.0.0.1:8080", true), ("localhost", true), ("LocalHost:1", true), ("a.localhost", true),
    ("[::1]:80", true), ("me.test", false), ("127.0.0.1.evil.test", false),
    ("localhost.evil.test", false), ("1.2.3.4.", true),
  ])
  func `on loopback shows its pages to who names this machine`(host: String, isShown: Bool) throws {
    let head = try RequestHead(
      method: "GET", target: Array("/.offlinecache/".utf8), version: "HTTP/1.1",
      fields: [HTTPField("Host", host)])
    let origin = try NormalizedURL("http://o.test/")
    let router = TargetRouter(origin: origin, isLocal: true)
    #expect((try? router.route(head)) == (isShown ? .page(path: "/.offlinecache/") : nil))
    #expect(try TargetRouter(origin: origin).route(head) == .page(path: "/.offlinecache/"))
  }

  @Test(arguments: [
    ("http://a.test", "http://a.test/"), ("http://A.test:80/b?c", "http://a.test/b?c"),
    ("http://user:pw@a.test/", "http://a.test/"), ("http://[::1]:81/", "http://[::1]:81/"),
    ("http://a.test/.offlinecache/", "http://a.test/.offlinecache/"),
  ])
  func `of a forward proxy takes whole URLs, without credentials`(
    target: String, url: String
  ) throws {
    #expect(try route(target, origin: nil) == .forward(try NormalizedURL(url)))
  }

  @Test(
    arguments: [nil, "http://o.test"],
    [
      ("/.offlinecache", "/.offlinecache"), ("/.offlinecache/", "/.offlinecache/"),
      ("/.offlinecache/status?x=1", "/.offlinecache/status"),
    ])
  func `knows the pages of the proxy`(origin: String?, target: (String, String)) throws {
    #expect(try route(target.0, origin: origin) == .page(path: target.1))
  }

  @Test func `knows the question of what the proxy can do`() throws {
    #expect(try route("*", method: "OPTIONS") == .capabilities)
    #expect(throws: RequestRefusal(400, "the target * is for OPTIONS alone")) { try route("*") }
  }

  @Test(arguments: [
    ("a.test:443", "CONNECT", 501), ("https://a.test/", "GET", 501), ("/", "GET", 400),
    ("ftp://a.test/", "GET", 400), ("a.test/", "GET", 400), ("", "GET", 400),
    ("http://a.test%2f/", "GET", 400), ("http:///", "GET", 400),
  ])
  func `of a forward proxy refuses the rest`(target: String, method: String, status: Int) throws {
    let refusal = #expect(throws: RequestRefusal.self) {
      try route(target, origin: nil, method: method)
    }
    #expect(refusal?.status == status)
  }
}
