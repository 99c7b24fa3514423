import MessageDigests
import NginxOrigin
import Synchronization
import Testing
import TransportTesting

@testable import URLSessionHTTP

/// Needs nginx and openssl of Debian.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct ServerCheckTests {
  private static let untrusted = "it is not trusted"

  /// Judges the server `good` for a host with pins for some certificates.
  private func verdict(
    pins names: [String]?, _ subject: Pin.Subject = .publicKey, refusal: String? = nil,
    host: String = "h", accepts: (@Sendable (ServerCertificates) async -> Bool)? = nil
  ) async throws -> TransportError? {
    let folder = try await Certificates.make()
    var setup = NetworkSetup()
    if let names {
      var pins: Set<Pin> = []
      for name in names {
        let der = try await Certificates.der(
          name, in: folder.url, publicKey: subject == .publicKey)
        pins.insert(try #require(Pin(subject, digest: MessageDigest.of(der, .sha256))))
      }
      setup.pins = ["h": pins]
    }
    var options = URLSessionOptions()
    options.acceptsServer = accepts
    let transfer = Transfer(
      HTTPRequest(url: try NormalizedURL("https://\(host)/")), nil, options: patient,
      capacity: { 1 }, onInterim: { _ in }, ask: { _, _ in })
    let chain = [
      try await Certificates.der("good", in: folder.url),
      try await Certificates.der("ca", in: folder.url),
    ]
    return await (try ServerCheck(setup, options)).verdict(chain, refusal: refusal, host, transfer)
  }

  @Test(arguments: [Pin.Subject.publicKey, .certificate])
  func `a pin is met by its server alone`(subject: Pin.Subject) async throws {
    #expect(try await verdict(pins: ["good"], subject) == nil)
    #expect(try await verdict(pins: ["self", "good"], subject) == nil)
    // Not by another certificate of its chain.
    for names in [["self"], ["ca"], []] {
      let error = try #require(try await verdict(pins: names, subject))
      #expect(error.code == .pinMismatch)
      #expect(error.detail.hasPrefix("h has ") && error.detail.contains("sha256/"))
    }
    #expect(try await verdict(pins: ["self"], subject, host: "other") == nil)
  }

  @Test func `a pin is no trust`() async throws {
    for names in [nil, ["good"], ["self"]] as [[String]?] {
      let error = try #require(try await verdict(pins: names, refusal: Self.untrusted))
      #expect(error.code == .certificate)
      #expect(error.detail == Self.untrusted)
    }
  }

  @Test func `a callback decides on trust, and pins must match, too`() async throws {
    let seen = Mutex<[ServerCertificates]>([])
    let accept: @Sendable (ServerCertificates) async -> Bool = { server in
      seen.withLock { $0.append(server) }
      return true
    }
    #expect(try await verdict(pins: nil, refusal: Self.untrusted, accepts: accept) == nil)
    #expect(try await verdict(pins: ["good"], accepts: accept) == nil)
    let mismatch = try await verdict(pins: ["self"], refusal: Self.untrusted, accepts: accept)
    #expect(mismatch?.code == .pinMismatch)
    let servers = seen.withLock { $0 }
    #expect(servers.map(\.isTrusted) == [false, true, false])
    #expect(servers.allSatisfy { $0.host == "h" && $0.certificates.count == 2 })
    #expect(servers.allSatisfy { Set($0.pins.map(\.subject)) == [.publicKey, .certificate] })

    let refused = try await verdict(pins: ["good"], accepts: { _ in false })
    #expect(refused?.code == .certificate)
    #expect(refused?.detail == "the program does not accept h")
    let both = try await verdict(pins: nil, refusal: Self.untrusted, accepts: { _ in false })
    #expect(both?.detail == Self.untrusted)
  }

  #if os(Linux)
    @Test func `URLSession itself refuses certificates that are not trusted`() async throws {
      let names = ["good", "other", "expired", "self"]
      let servers = names.enumerated().map { number, name in
        """
        server { listen PORT\(number) ssl; ssl_certificate FOLDER/\(name).pem;
          ssl_certificate_key FOLDER/\(name).key; location / { return 200 "hello"; } }
        """
      }.joined()
      let origin = try await NginxOrigin(servers, in: Certificates.make(), ports: names.count)
      let transport = try URLSessionTransport(NetworkSetup(proxy: .none))
      for port in names.indices {
        let url = try NormalizedURL(origin.address(port: port))
        #expect(await transport.failure(url)?.code == .failed, "\(names[port])")
      }
    }
  #endif
}
