import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("A reverse proxy", .timeLimit(.minutes(5))) struct ServedNamesTests {
  @Test(arguments: ["/", "/.offlinecache/", "/.offlinecache/status"])
  func `on loopback gives nothing to a name that is not its own`(target: String) async throws {
    let asked = Asked()
    try await withServer(asked.backend, hosts: []) { port, _ in
      for host in ["evil.example:\(port)", "evil.example", "127.0.0.1", "localhost:1"] {
        let reading = try await exchange(
          port, "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", untilClosed: true)
        #expect(reading.status == 421)
        #expect(reading.body.contains("http://127.0.0.1:\(port)/"))
        #expect(reading.body.contains("--host"))
      }
      #expect(asked.all.isEmpty)
      for host in ["127.0.0.1:\(port)", "LOCALHOST:\(port)", "[::1]:\(port)", "127.1.2.3:\(port)"] {
        let reading = try await exchange(port, "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(reading.status == 200)
      }
      // A browser always says which host it asks for.
      let old = try await exchange(port, "GET / HTTP/1.0\r\n\r\n", untilClosed: true)
      #expect(old.status == 200)
      let page = try await exchange(
        port, "GET /.offlinecache/ HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      #expect(page.status == 404)
    }
  }

  @Test func `beyond loopback serves every name unless some are given`() {
    let address = ListenAddress(host: "0.0.0.0", port: 80)
    #expect(ServedNames(address, isLoopback: false, hosts: []) == nil)
    let names = ServedNames(address, isLoopback: false, hosts: ["site.test"])
    #expect(names?.contains(Array("site.test".utf8)) == true)
    #expect(names?.contains(Array("evil.test".utf8)) == false)
  }

  @Test func `is reached by https, also at the usual port`() throws {
    let names = try #require(
      ServedNames(
        ListenAddress(host: "127.0.0.1", port: 443), isLoopback: true, hosts: [], scheme: .https))
    #expect(names.contains(Array("localhost".utf8)))
    #expect(names.contains(Array("127.0.0.1:443".utf8)))
    #expect(!names.contains(Array("localhost:80".utf8)))
    #expect(!names.contains(Array("evil.test".utf8)))
    #expect(names.base == "https://127.0.0.1:443/")
  }
}
