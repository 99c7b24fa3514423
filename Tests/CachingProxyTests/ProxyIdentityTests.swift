import CacheClient
import CacheStore
import CurlHTTP
import HTTPSemantics
import HTTPTransports
import Synchronization
import TestSupport
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

/// A proxy whose own address nobody on this machine knows, because a router translates it.
@Suite(.timeLimit(.minutes(5))) struct TranslatedAddressTests {
  /// Passes bytes on to a port, as a router does.
  private final class Router: Sendable {
    private let target = Mutex<UInt16>(0)
    private let server = Mutex<TalkingServer?>(nil)

    init() throws {
      let server = try TalkingServer { [weak self] client in
        guard let port = self?.target.withLock({ $0 }), let next = try? RawClient(port: port) else {
          return
        }
        next.send(client.read(until: "\r\n\r\n").bytes)
        client.send(next.readAnswer().bytes)
      }
      self.server.withLock { $0 = server }
    }

    var port: UInt16 { server.withLock { $0?.port ?? 0 } }

    func lead(to port: UInt16) { target.withLock { $0 = port } }
  }

  @Test(arguments: [true, false])
  func `a request that comes back ends at once, and is not stored`(isReverse: Bool) async throws {
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path)
    defer { store.close() }
    let router = try Router()
    var setup = NetworkSetup(connectionsPerHost: 0, proxy: .none, usesHTTP2: false)
    setup.resolves = ["outside.test:\(router.port):127.0.0.1"]
    var options = ClientOptions(rules: CacheRules(role: .sharedCache))
    options.transport.addsDefaultFields = false
    let recorder = Recorder()
    let url = "http://outside.test:\(router.port)/a"
    let server = ProxyServer(
      client: CachingClient(store: store, transport: try CurlTransport(setup), options: options),
      options: ProxyOptions(
        listen: ListenAddress(host: "127.0.0.1", port: 0),
        origin: isReverse ? try NormalizedURL("http://outside.test:\(router.port)/") : nil,
        hosts: ["outside.test"]),
      observers: [recorder])
    try await run(server) { port, _ in
      router.lead(to: port)
      for _ in 1...2 {
        let answer = try await exchange(
          port,
          "GET \(isReverse ? "/a" : url) HTTP/1.1\r\nHost: outside.test:\(router.port)\r\n\r\n")
        #expect(answer.status == 508)
        #expect(answer.body.contains("has come back to this proxy"))
      }
      let records = try await recorder.records(count: 4)
      #expect(records.map(\.status) == [508, 508, 508, 508])
    }
    #expect(store.statistics.entries == 0)
  }
}
