import HTTPSemantics
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

private func forwarding(_ request: HTTPRequest?) -> [String] {
  (request?.fields ?? []).map(\.description).filter { $0.lowercased().contains("forwarded") }
    .sorted()
}

@Suite("A reverse proxy before its origin", .timeLimit(.minutes(5))) struct ClientForwardingTests {
  @Test func `tells the origin which client asked, and drops what clients say of that`()
    async throws
  {
    let asked = Asked()
    try await withServer(asked.backend) { port, _ in
      _ = try await exchange(
        port,
        "GET / HTTP/1.1\r\nHost: x:1\r\nForwarded: for=6.6.6.6\r\nx-forwarded-for: 6.6.6.6\r\n"
          + "X-Forwarded-Host: evil.test\r\nX_Forwarded_Proto: https\r\nX-Forwarded-Prefix: /\r\n"
          + "X-Real-IP: 6.6.6.6\r\n\r\n"
      )
      _ = try await exchange(
        port, "POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(
      forwarding(asked.all.first) == [
        "Forwarded: for=127.0.0.1;host=\"x:1\";proto=http", "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-Host: x:1", "X-Forwarded-Proto: http",
      ])
    #expect(forwarding(asked.all.last).contains("X-Forwarded-For: 127.0.0.1"))
  }

  @Test func `looks up what is stored without the fields for the origin`() async throws {
    let seen = Mutex<[HTTPRequest]>([])
    let backend = ScriptedBackend(stored: { request in
      seen.withLock { $0.append(request) }
      return .text("stored")
    })
    try await withServer(backend) { port, _ in
      let reading = try await exchange(
        port, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: evil.test\r\n\r\n")
      #expect(reading.body == "stored")
    }
    #expect(seen.withLock { $0.count } == 1)
    #expect(forwarding(seen.withLock { $0.first }).isEmpty)
  }

  @Test func `that trusts its clients adds to what they say`() async throws {
    let asked = Asked(
      .text("", status: 302, fields: [HTTPField("Location", "http://origin.test/b")]))
    try await withServer(asked.backend, trustsForwarded: true) { port, _ in
      let reading = try await exchange(
        port,
        "GET / HTTP/1.1\r\nHost: x\r\nForwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\n"
          + "X-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Proto: https\r\n"
          + "X-Forwarded-Host: site.test\r\n\r\n")
      #expect(reading.field("Location") == "https://site.test/b")
    }
    #expect(
      forwarding(asked.all.first) == [
        "Forwarded: for=1.2.3.4, for=127.0.0.1;host=\"x\";proto=http",
        "X-Forwarded-For: 1.2.3.4, 5.6.7.8, 127.0.0.1", "X-Forwarded-Host: site.test",
        "X-Forwarded-Proto: https",
      ])
  }

  @Test func `keeps an unchecked name from the origin and from answers`() async throws {
    let asked = Asked(
      .text("", status: 302, fields: [HTTPField("Location", "http://origin.test//b")]))
    let server = ProxyServer(
      backend: asked.backend,
      options: ProxyOptions(
        listen: ListenAddress(host: "0.0.0.0", port: 0),
        origin: try NormalizedURL("http://origin.test/")),
      pages: nil, observers: [], clock: TestClock())
    let address = try server.start()
    let reading = try await exchange(
      address.port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    #expect(reading.field("Location") == "/.//b")
    #expect(
      forwarding(asked.all.first) == [
        "Forwarded: for=127.0.0.1;proto=http", "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-Proto: http",
      ])
    await server.stop(grace: .zero)
  }

  @Test func `leads redirects of the origin, stored or not, to itself`() async throws {
    let answer = ProxyAnswer.text(
      "", status: 301,
      fields: [
        HTTPField("Location", "http://origin.test/base/b?c#d"),
        HTTPField("Content-Location", "http://origin.test/base/e"),
        HTTPField("Link", "<http://origin.test/base/f>"),
      ])
    let backend = ScriptedBackend(
      stored: { $0.url.target == "/base/stored" ? answer : nil }, answering: { _, _, _ in answer })
    try await withServer(backend, origin: "http://origin.test/base") { port, _ in
      for path in ["/a", "/stored"] {
        let reading = try await exchange(port, "GET \(path) HTTP/1.1\r\nHost: x:5\r\n\r\n")
        #expect(reading.field("Location") == "http://x:5/b?c#d")
        #expect(reading.field("Content-Location") == "http://x:5/e")
        #expect(reading.field("Link") == "<http://origin.test/base/f>")
      }
    }
  }

  @Test func `in the other direction changes nothing`() async throws {
    let asked = Asked(
      .text("", status: 302, fields: [HTTPField("Location", "http://a.test/b")]))
    try await withServer(asked.backend, origin: nil, hosts: []) { port, _ in
      let reading = try await exchange(
        port, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n")
      #expect(reading.field("Location") == "http://a.test/b")
    }
    #expect(forwarding(asked.all.first) == ["X-Forwarded-For: 1.2.3.4"])
  }

  @Test func `tells the origin so`() {
    let forwarding = ClientForwarding(trustsClients: false, scheme: .https)
    let request = forwarding.request(
      HTTPRequest(method: .get, url: try! NormalizedURL("http://origin.test/")),
      from: "192.0.2.7", for: "a.test")
    #expect(request.fields.first(named: "X-Forwarded-Proto")?.text == "https")
    #expect(
      request.fields.first(named: "Forwarded")?.text == "for=192.0.2.7;host=\"a.test\";proto=https")
    #expect(forwarding.address(for: "a.test", request.fields) == "https://a.test")
  }
}
