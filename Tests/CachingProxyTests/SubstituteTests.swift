import CacheClient
import CacheStore
import CurlHTTP
import Foundation
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A proxy with substitutes", .timeLimit(.minutes(5))) struct SubstituteTests {
  /// Serves a file in place of `/a` of an origin, which nobody can reach.
  private func withSubstitute(
    _ content: String, _ body: (UInt16, Recorder) async throws -> Void
  ) async throws {
    let temporary = TemporaryFolder()
    let folder = temporary.path
    try Data(content.utf8).write(to: URL(fileURLWithPath: "\(folder)/a.css"))
    let store = try Store(at: "\(folder)/store")
    defer { store.close() }
    var options = ClientOptions()
    options.substitutes = try Substitutes([
      SubstituteRule("http://127.0.0.1:1/a", .file("\(folder)/a.css"))
    ])
    let observer = Recorder()
    let server = ProxyServer(
      client: CachingClient(
        store: store, transport: try CurlTransport(NetworkSetup(proxy: .none)), options: options),
      options: ProxyOptions(
        listen: ListenAddress(host: "127.0.0.1", port: 0),
        origin: try NormalizedURL("http://127.0.0.1:1/"), hosts: ["x"]),
      observers: [observer])
    let address = try server.start()
    do {
      try await body(address.port, observer)
    } catch {
      await server.stop(grace: .zero)
      throw error
    }
    await server.stop(grace: .zero)
  }

  @Test(arguments: [5, 300_000])
  func `answers whole, in parts, with 304 and to HEAD`(length: Int) async throws {
    let content = String((0..<length).map { _ in "abcdefghij".randomElement() ?? "a" })
    try await withSubstitute(content) { port, observer in
      let whole = try await exchange(port, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(whole.body == content)
      #expect(whole.field("Content-Type") == "text/css; charset=utf-8")
      #expect(
        whole.field("Cache-Status") == "OfflineCache; hit; ttl=3600; detail=\"substitute\"")
      let part = try await exchange(
        port, "GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-3\r\n\r\n")
      #expect(part.status == 206)
      #expect(part.body == String(content.dropFirst().prefix(3)))
      let tag = try #require(whole.field("ETag"))
      let same = try await exchange(
        port, "GET /a HTTP/1.1\r\nHost: x\r\nIf-None-Match: \(tag)\r\n\r\n")
      #expect(same.status == 304)
      #expect(same.field("Connection") == nil)
      let head = try await exchange(
        port, "HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true)
      #expect(head.field("Content-Length") == "\(length)")
      #expect(head.body.isEmpty)
      let other = try await exchange(port, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(other.status == 502)
      let reload = try await exchange(
        port, "GET /a HTTP/1.1\r\nHost: x\r\nCache-Control: no-cache\r\n\r\n")
      #expect(reload.status == 502)
      let records = try await observer.records(count: 6).filter { $0.source == .substitute }
      #expect(records.count == 4)
      #expect(records.allSatisfy { $0.account?.outcome == .hit })
    }
  }
}
