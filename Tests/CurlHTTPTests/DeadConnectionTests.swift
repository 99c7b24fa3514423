import Foundation
import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Needs nginx and openssl of Debian.
@Suite(
  .enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"),
  .timeLimit(.minutes(5)))
struct DeadConnectionTests {
  private static let brief = TransportOptions(idleTimeout: .milliseconds(40))

  private func makeOrigin() async throws -> NginxOrigin {
    try await NginxOrigin(
      """
      server { listen PORT0 ssl http2; ssl_certificate FOLDER/good.pem;
        ssl_certificate_key FOLDER/good.key; location / { return 200 "hello"; } }
      """, in: Certificates.make())
  }

  /// Makes a transport that has one HTTP/2 connection, which is dead.
  private func makeTransport(
    _ origin: NginxOrigin, _ relay: FreezingRelay
  ) async throws -> (CurlTransport, NormalizedURL) {
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = "\(origin.folder.path)/ca.pem"
    let transport = try CurlTransport(setup)
    let url = try NormalizedURL("https://localhost:\(relay.port)/")
    #expect(try await transport.fetch(url).response.version == "2")
    relay.freeze()
    return (transport, url)
  }

  @Test(arguments: [brief, TransportOptions(idleTimeout: nil, wholeTimeout: .milliseconds(200))])
  func `an HTTP/2 connection is not used again after a timeout`(
    options: TransportOptions
  ) async throws {
    let origin = try await makeOrigin()
    let relay = try FreezingRelay(to: origin.ports[0])
    let (transport, url) = try await makeTransport(origin, relay)
    #expect(await transport.failure(url, options: options)?.code == .timeout)
    #expect(try await transport.fetch(url).body == "hello")
    #expect(relay.connections == 2)
  }

  @Test
  func `after a timeout no transfer joins an HTTP/2 connection on which others wait in silence`()
    async throws
  {
    let origin = try await makeOrigin()
    let relay = try FreezingRelay(to: origin.ports[0])
    let (transport, url) = try await makeTransport(origin, relay)
    let silent = try transport.start(HTTPRequest(url: url), nil, patient)
    #expect(await transport.failure(url, options: Self.brief)?.code == .timeout)
    #expect(try await transport.fetch(url).body == "hello")
    silent.cancel()
    #expect(try await transport.fetch(url).body == "hello")
    #expect(relay.connections == 2)
  }
}
