import CacheSystem
import Testing
import TransportTesting

@testable import CurlHTTP

struct ProxyTests {
  private func transport(_ proxy: NetworkSetup.Proxy) throws -> CurlTransport {
    try CurlTransport(NetworkSetup(proxy: proxy))
  }

  private func makeProxy() throws -> LoopbackOrigin {
    try LoopbackOrigin { request, connection in
      guard request.method != "CONNECT" else {
        return connection.answer("no", status: "403 Forbidden")
      }
      connection.answer("by proxy")
    }
  }

  @Test("a proxy is asked for the whole URL, for hosts that nobody else could find")
  func plain() async throws {
    let proxy = try makeProxy()
    let transport = try transport(.url("http://us%40r:p%3Aw@127.0.0.1:\(proxy.port)"))
    let url = try NormalizedURL("http://nowhere.invalid/a?b")
    #expect(try await transport.fetch(url).body == "by proxy")
    #expect(proxy.requests[0].target == "http://nowhere.invalid/a?b")
    #expect(proxy.requests[0].value(of: "Host") == "nowhere.invalid")
    #expect(proxy.requests[0].value(of: "Proxy-Authorization") == "Basic dXNAcjpwOnc=")
  }

  @Test("https goes through a tunnel; one that is refused is an error, and tells no secret")
  func tunnel() async throws {
    let proxy = try makeProxy()
    let transport = try transport(.url("http://user:secret@127.0.0.1:\(proxy.port)"))
    let error = try #require(await transport.failure(NormalizedURL("https://nowhere.invalid/")))
    #expect(error.detail.contains("403"))
    #expect(!error.description.contains("secret"))
    #expect(proxy.requests.map(\.method) == ["CONNECT"])
    #expect(proxy.requests[0].target == "nowhere.invalid:443")
    #expect(proxy.requests[0].value(of: "Proxy-Authorization") != nil)
  }

  @Test("hosts that are excepted are asked directly")
  func exceptions() async throws {
    let proxy = try makeProxy()
    let origin = try LoopbackOrigin { _, connection in connection.answer("directly") }
    let address = "http://127.0.0.1:\(proxy.port)"
    #expect(try await transport(.url(address)).fetch(origin.address()).body == "by proxy")
    for except in ["127.0.0.1", "example.org,127.0.0.1", "127.0.0.0/8", "*"] {
      let transport = try transport(.url(address, except: except))
      #expect(try await transport.fetch(origin.address()).body == "directly", "\(except)")
    }
    let other = try transport(.url(address, except: "example.org,.1"))
    #expect(try await other.fetch(origin.address()).body == "by proxy")
  }

  @Test("hosts behind one proxy have connections of their own", .timeLimit(.minutes(5)))
  func connectionsPerHost() async throws {
    let hosts = Monitor<Set<String>>([])
    let proxy = try LoopbackOrigin { request, connection in
      hosts.change { _ = $0.insert(request.target) }
      hosts.wait { $0.count == 2 ? () : nil }
      connection.answer("by proxy")
    }
    let transport = try CurlTransport(
      NetworkSetup(connectionsPerHost: 1, proxy: .url("http://127.0.0.1:\(proxy.port)")))
    let options = TransportOptions(connectTimeout: .seconds(5), idleTimeout: nil)
    try await withThrowingTaskGroup(of: String.self) { group in
      for host in ["a.invalid", "b.invalid"] {
        let url = try NormalizedURL("http://\(host)/")
        group.addTask { try await transport.fetch(url, options: options).body }
      }
      for try await body in group { #expect(body == "by proxy") }
    }
  }

  @Test("libcurl counts connections to hosts only without a proxy for http")
  func connectionLimit() {
    func limit(_ proxy: NetworkSetup.Proxy, _ variables: [String: String] = [:]) -> Int {
      TransferLoop.connectionsPerHost(NetworkSetup(connectionsPerHost: 7, proxy: proxy)) {
        variables[$0]
      }
    }
    #expect(limit(.none, ["http_proxy": "http://p"]) == 7)
    #expect(limit(.url("http://p")) == 0)
    #expect(limit(.environment, ["http_proxy": "", "https_proxy": "http://p"]) == 7)
    for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
      #expect(limit(.environment, [name: "http://p"]) == 0)
    }
  }

  @Test("a proxy that cannot be reached or is none is an error")
  func unreachable() async throws {
    let port = try LoopbackListener.unusedPort()
    let url = try NormalizedURL("http://nowhere.invalid/")
    let gone = await (try transport(.url("http://127.0.0.1:\(port)"))).failure(url)
    #expect(gone?.code == .cannotConnect)
    let unknown = await (try transport(.url("http://proxy.invalid:1"))).failure(url)
    #expect(unknown?.code == .cannotResolve)
    #expect(
      unknown?.description.hasPrefix(
        "http://nowhere.invalid/: the name of the proxy cannot be resolved (") == true)
  }
}
