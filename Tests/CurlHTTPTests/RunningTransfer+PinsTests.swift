import Foundation
import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Needs nginx and openssl of Debian.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct RunningTransferPinsTests {
  @Test("a pinned key or certificate is met by its server alone", arguments: [true, false])
  func pins(isKey: Bool) async throws {
    let origin = try await NginxOrigin.withTLS()
    let subject: Pin.Subject = isKey ? .publicKey : .certificate
    let right = try await origin.pin("good", subject)
    let wrong = try await origin.pin("self", subject)
    var ours = origin.setup()
    ours.pins = ["LOCALHOST": [right]]
    #expect(try await origin.answer(ours) == .success("h2 hello"))
    ours.pins = ["localhost": [wrong, right]]
    #expect(try await origin.answer(ours) == .success("h2 hello"))
    // What is right for one host says nothing of another one.
    ours.pins = ["localhost": [right], "127.0.0.1": [wrong]]
    #expect(try await origin.answer(ours, host: "127.0.0.1") == .failure(.pinMismatch))
    ours.pins = ["localhost": [wrong]]
    #expect(try await origin.answer(ours) == .failure(.pinMismatch))
    ours.pins = ["localhost": []]
    #expect(try await origin.answer(ours) == .failure(.pinMismatch))
    // A pin is no trust.
    ours.pins = ["localhost": [wrong]]
    #expect(try await origin.answer(ours, port: 3) == .failure(.certificate))
  }

  @Test("a mismatch names the host and what was found, and the server hears of no request")
  func mismatch() async throws {
    let origin = try await NginxOrigin.withTLS()
    var ours = origin.setup()
    ours.pins = ["localhost": [try await origin.pin("self", .publicKey)]]
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    // The second one would find the connection of the first, if that were kept.
    for _ in 0..<3 {
      let error = try #require(await transport.failure(url))
      #expect(error.code == .pinMismatch)
      #expect(error.detail.contains("localhost"))
      let key = try await origin.pin("good", .publicKey)
      let certificate = try await origin.pin("good", .certificate)
      #expect(error.detail.contains(key.description))
      #expect(error.detail.contains(certificate.description))
    }
  }

  @Test("kept and shared connections are looked at, too", arguments: [true, false])
  func keptConnections(usesHTTP2: Bool) async throws {
    let origin = try await NginxOrigin.withTLS()
    var ours = origin.setup()
    ours.usesHTTP2 = usesHTTP2
    ours.pins = ["localhost": [try await origin.pin("good", .certificate)]]
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await transport.fetch(url).body } }
      for try await text in group { #expect(text.hasSuffix("hello")) }
    }
    #expect(try await transport.fetch(url).body.hasSuffix("hello"))
  }

  @Test("pins hold behind a proxy that tunnels", arguments: [true, false])
  func tunnelled(isRight: Bool) async throws {
    let origin = try await NginxOrigin.withTLS()
    let port = origin.ports[0]
    let proxy = try LoopbackOrigin { request, connection in
      guard request.method == "CONNECT" else { return connection.answer("no tunnel") }
      connection.tunnel(to: port)
    }
    var ours = origin.setup()
    ours.proxy = .url("http://127.0.0.1:\(proxy.port)", except: "")
    ours.pins = ["localhost": [try await origin.pin(isRight ? "good" : "self", .publicKey)]]
    #expect(
      try await origin.answer(ours) == (isRight ? .success("h2 hello") : .failure(.pinMismatch)))
    #expect(proxy.requests.map(\.target) == ["localhost:\(port)"])
  }

  @Test("a pinned host is not asked by http")
  func noTLS() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("x") }
    var ours = NetworkSetup(proxy: .none)
    ours.pins = [
      "127.0.0.1": [try #require(Pin(.publicKey, digest: Array(repeating: 1, count: 32)))]
    ]
    let error = await (try CurlTransport(ours)).failure(try origin.address())
    #expect(error?.code == .pinMismatch)
    #expect(origin.requests.isEmpty)
  }
}
