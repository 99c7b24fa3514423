import Testing
import TransportTesting

@testable import CurlHTTP

struct CookieJarTests {
  private func origin() throws -> LoopbackOrigin {
    try LoopbackOrigin { request, connection in
      connection.answer("ok", fields: ["Set-Cookie: a=1; Path=/in", "Vary: Accept, Cookie"])
    }
  }

  @Test func `cookies are kept only where that was asked for`() async throws {
    let origin = try origin()
    for keeps in [false, true] {
      let transport = try CurlTransport(NetworkSetup(keepsCookies: keeps))
      for target in ["/in/1", "/in/2", "/out"] {
        _ = try await transport.fetch(origin.address(target))
      }
    }
    let sent = origin.requests.map { $0.value(of: "Cookie") }
    #expect(sent == [nil, nil, nil, nil, "a=1", nil])
    // Another transport begins with none.
    _ = try await CurlTransport(NetworkSetup(keepsCookies: true)).fetch(origin.address("/in/1"))
    #expect(origin.requests.last?.value(of: "Cookie") == nil)
  }

  @Test func `they stay with their host, and a request with its own goes alone`() async throws {
    let origin = try origin()
    let transport = try CurlTransport(NetworkSetup(keepsCookies: true))
    _ = try await transport.fetch(origin.address("/in/1"))
    _ = try await transport.fetch(NormalizedURL("http://localhost:\(origin.port)/in/1"))
    #expect(origin.requests.last?.value(of: "Cookie") == nil)
    var own = HTTPRequest(url: try origin.address("/in/2"))
    own.fields = [HTTPField("Cookie", "b=2")]
    _ = try await transport.send(own)
    #expect(origin.requests.last?.value(of: "Cookie") == "b=2")
  }

  @Test func `a request that names another host neither gets nor sets cookies`() async throws {
    let other = try LoopbackOrigin { request, connection in
      connection.answer("ok", fields: ["Set-Cookie: b=2; Path=/in"])
    }
    let transport = try CurlTransport(NetworkSetup(keepsCookies: true))
    let bank = try origin()
    let named = try NormalizedURL("http://localhost:\(bank.port)/in/1")
    let name: HTTPFields = [HTTPField("Host", "localhost")]
    _ = try await transport.fetch(named)
    for _ in 1...2 { _ = try await transport.fetch(other.address("/in/1"), fields: name) }
    _ = try await transport.fetch(other.address("/in/1"))
    _ = try await transport.fetch(other.address("/in/1"))
    #expect(other.requests.map { $0.value(of: "Cookie") } == [nil, nil, nil, "b=2"])
  }

  @Test func `a reset forgets them`() async throws {
    let origin = try origin()
    let transport = try CurlTransport(NetworkSetup(keepsCookies: true))
    for target in ["/in/1", "/in/2"] { _ = try await transport.fetch(origin.address(target)) }
    await transport.reset()
    for target in ["/in/3", "/in/4"] { _ = try await transport.fetch(origin.address(target)) }
    #expect(origin.requests.map { $0.value(of: "Cookie") } == [nil, "a=1", nil, "a=1"])
  }

  @Test func `no cache can take an answer for one to other cookies`() async throws {
    let origin = try origin()
    let plain = try await CurlTransport().send(HTTPRequest(url: origin.address()))
    #expect(plain.head.fields.first(named: "Vary")?.text == "Accept, Cookie")
    let kept = try await CurlTransport(NetworkSetup(keepsCookies: true))
      .send(HTTPRequest(url: origin.address()))
    #expect(kept.head.fields.all(named: "Vary").map(\.text) == ["*"])
    let fields: HTTPFields = [HTTPField("Vary", "Cookies, Accept"), HTTPField("Vary", "X-Cookie")]
    #expect(fields.concealingCookies == fields)
    #expect(
      ([HTTPField("vary", "A"), HTTPField("VARY", " COOKIE ,b")] as HTTPFields).concealingCookies
        == [HTTPField("Vary", "*")])
  }
}
