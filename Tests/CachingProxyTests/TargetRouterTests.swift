import HTTPSemantics
import Testing

@testable import CachingProxy

/// Routes a target through a proxy with or without an origin.
private func route(
  _ target: String, origin: String? = "http://o.test:81", method: String = "GET"
) throws -> TargetRouter.Route {
  try TargetRouter(origin: origin.map { try NormalizedURL($0) })
    .route(head(target, host: "me.test", method: method))
}

private func head(_ target: String, host: String, method: String = "GET") throws -> RequestHead {
  try RequestHead(
    method: method, target: Array(target.utf8), version: "HTTP/1.1",
    fields: [HTTPField("Host", host)])
}

@Suite("The router") struct TargetRouterTests {
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
    ("127.0.0.1:8080", true), ("localhost:8080", true), ("LocalHost:8080", true),
    ("a.localhost:8080", true), ("[::1]:8080", true), ("127.9.8.7:8080", true),
    ("Mine.test", true), ("mine.test:1", true), ("typed.test:8080", true),
    ("localhost", false), ("127.0.0.1:81", false), ("typed.test", false), ("me.test:8080", false),
    ("127.0.0.1.evil.test:8080", false), ("localhost.evil.test:8080", false),
    ("mine.test.evil.test", false), ("1.2.3.4:8080", false), ("0.0.0.0:8080", false), ("", false),
  ])
  func `serves the names of this machine, and those that are allowed`(
    host: String, isServed: Bool
  ) throws {
    let names = ServedNames(
      ListenAddress(host: "typed.test", port: 8080), isLoopback: true, hosts: ["mine.TEST"])
    let reverse = TargetRouter(origin: try NormalizedURL("http://o.test/"), names: names)
    for (router, target) in [
      (reverse, "/a"), (reverse, "/.offlinecache/"), (reverse, "http://\(host)/a"),
      (TargetRouter(origin: nil, names: names), "/.offlinecache/status"),
    ] where !host.isEmpty || target.hasPrefix("/") {
      let field = target.hasPrefix("/") ? host : "localhost:8080"
      let head = try head(target, host: field)
      if isServed {
        #expect(throws: Never.self) { try router.route(head) }
      } else {
        let refusal = #expect(throws: RequestRefusal.self) { try router.route(head) }
        #expect(refusal?.status == 421)
        #expect(refusal?.reason.contains("http://typed.test:8080/") == true)
      }
    }
  }

  @Test func `of a forward proxy looks at no name of what it fetches`() throws {
    let names = ServedNames(ListenAddress(host: "::1", port: 1), isLoopback: true, hosts: [])
    let router = TargetRouter(origin: nil, names: names)
    let url = "http://a.test/"
    #expect(try router.route(head(url, host: "a.test")) == .forward(try NormalizedURL(url)))
    #expect(
      try router.route(head("/.offlinecache/", host: "[::1]:1")) == .page(path: "/.offlinecache/"))
  }

  @Test func `of a forward proxy answers for its own address alone`() throws {
    let names = ServedNames(
      ListenAddress(host: "127.0.0.1", port: 81), isLoopback: true, hosts: ["mine.test"])
    let router = TargetRouter(origin: nil, names: names)
    for own in ["127.0.0.1:81", "localhost:81", "[::1]:81"] {
      let page = try router.route(head("http://\(own)/.offlinecache/sites?q=a", host: own))
      #expect(page == .page(path: "/.offlinecache/sites", query: "q=a"))
    }
    for other in ["127.0.0.1", "127.0.0.1:82", "mine.test", "mine.test:81", "a.test:81"] {
      let url = "http://\(other)/.offlinecache/"
      #expect(try router.route(head(url, host: other)) == .forward(try NormalizedURL(url)))
    }
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
      ("/.offlinecache/status", "/.offlinecache/status"),
    ])
  func `knows the pages of the proxy`(origin: String?, target: (String, String)) throws {
    #expect(try route(target.0, origin: origin) == .page(path: target.1))
    #expect(try route("\(target.0)?x=1?", origin: origin) == .page(path: target.1, query: "x=1?"))
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
