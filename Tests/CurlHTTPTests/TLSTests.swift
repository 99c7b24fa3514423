import Foundation
import HTTPSemantics
import HTTPTransports
import LoopbackOrigin
import MessageDigests
import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Needs nginx and openssl of Debian.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct TLSTests {
  private static let servers =
    ["good", "other", "expired", "self"].enumerated().map { number, name in
      """
      server { listen PORT\(number) ssl http2; ssl_certificate FOLDER/\(name).pem;
        ssl_certificate_key FOLDER/\(name).key; location / { return 200 "$http2 hello"; } }
      """
    }.joined() + """
      server { listen PORT4 ssl; ssl_certificate FOLDER/good.pem;
        ssl_certificate_key FOLDER/good.key; ssl_client_certificate FOLDER/ca.pem;
        ssl_verify_client on; location / { return 200 "$ssl_client_s_dn"; } }
      """

  private func makeOrigin() async throws -> NginxOrigin {
    try await NginxOrigin(Self.servers, in: Certificates.make(), ports: 5)
  }

  private func setup(_ origin: NginxOrigin, authorities: String? = "ca.pem") -> NetworkSetup {
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = authorities.map { "\(origin.folder.path)/\($0)" }
    return setup
  }

  /// Returns the text of the answer, or why there is none.
  private func answer(
    _ setup: NetworkSetup, _ origin: NginxOrigin, port: Int = 0, host: String = "localhost"
  ) async throws -> Result<String, TransportError.Code> {
    let transport = try CurlTransport(setup)
    let url = try NormalizedURL(origin.address(port: port, host: host))
    do throws(TransportError) {
      return .success(try await transport.fetch(url).body)
    } catch {
      return .failure(error.code)
    }
  }

  private func pin(
    _ name: String, _ origin: NginxOrigin, _ subject: Pin.Subject
  ) async throws -> Pin {
    let der = try await Certificates.der(
      name, in: origin.folder, publicKey: subject == .publicKey)
    return try #require(Pin(subject, digest: MessageDigest.of(der, .sha256)))
  }

  @Test("a server is trusted if its certificate is of a trusted authority, for its name, and valid")
  func trust() async throws {
    let origin = try await makeOrigin()
    let ours = setup(origin)
    #expect(try await answer(ours, origin) == .success("h2 hello"))
    #expect(try await answer(ours, origin, host: "127.0.0.1") == .success("h2 hello"))
    for port in 1...3 {
      #expect(try await answer(ours, origin, port: port) == .failure(.certificate), "port \(port)")
    }
    #expect(try await answer(setup(origin, authorities: nil), origin) == .failure(.certificate))
    let own = setup(origin, authorities: "self.pem")
    #expect(try await answer(own, origin, port: 3) == .success("h2 hello"))
    let none = setup(origin, authorities: "nothing.pem")
    #expect(try await answer(none, origin) == .failure(.authoritiesFile))
  }

  @Test("without HTTP/2 the same server answers by HTTP/1.1")
  func version() async throws {
    let origin = try await makeOrigin()
    var ours = setup(origin)
    let url = try NormalizedURL(origin.address())
    #expect(try await CurlTransport(ours).fetch(url).response.version == "2")
    ours.usesHTTP2 = false
    #expect(try await CurlTransport(ours).fetch(url).response.version == "1.1")
  }

  @Test("a pinned key or certificate is met by its server alone", arguments: [true, false])
  func pins(isKey: Bool) async throws {
    let origin = try await makeOrigin()
    let subject: Pin.Subject = isKey ? .publicKey : .certificate
    let right = try await pin("good", origin, subject)
    let wrong = try await pin("self", origin, subject)
    var ours = setup(origin)
    ours.pins = ["LOCALHOST": [right]]
    #expect(try await answer(ours, origin) == .success("h2 hello"))
    ours.pins = ["localhost": [wrong, right]]
    #expect(try await answer(ours, origin) == .success("h2 hello"))
    // What is right for one host says nothing of another one.
    ours.pins = ["localhost": [right], "127.0.0.1": [wrong]]
    #expect(try await answer(ours, origin, host: "127.0.0.1") == .failure(.pinMismatch))
    ours.pins = ["localhost": [wrong]]
    #expect(try await answer(ours, origin) == .failure(.pinMismatch))
    ours.pins = ["localhost": []]
    #expect(try await answer(ours, origin) == .failure(.pinMismatch))
    // A pin is no trust.
    ours.pins = ["localhost": [wrong]]
    #expect(try await answer(ours, origin, port: 3) == .failure(.certificate))
  }

  @Test("a mismatch names the host and what was found, and the server hears of no request")
  func mismatch() async throws {
    let origin = try await makeOrigin()
    var ours = setup(origin)
    ours.pins = ["localhost": [try await pin("self", origin, .publicKey)]]
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    // The second one would find the connection of the first, if that were kept.
    for _ in 0..<3 {
      let error = try #require(await transport.failure(url))
      #expect(error.code == .pinMismatch)
      #expect(error.detail.contains("localhost"))
      let key = try await pin("good", origin, .publicKey)
      let certificate = try await pin("good", origin, .certificate)
      #expect(error.detail.contains(key.description))
      #expect(error.detail.contains(certificate.description))
    }
  }

  @Test("kept and shared connections are looked at, too", arguments: [true, false])
  func keptConnections(usesHTTP2: Bool) async throws {
    let origin = try await makeOrigin()
    var ours = setup(origin)
    ours.usesHTTP2 = usesHTTP2
    ours.pins = ["localhost": [try await pin("good", origin, .certificate)]]
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await transport.fetch(url).body } }
      for try await text in group { #expect(text.hasSuffix("hello")) }
    }
    #expect(try await transport.fetch(url).body.hasSuffix("hello"))
  }

  @Test("transfers that wait for a connection get one", arguments: [true, false])
  func waiting(usesHTTP2: Bool) async throws {
    let origin = try await makeOrigin()
    var ours = setup(origin)
    ours.usesHTTP2 = usesHTTP2
    ours.connectionsPerHost = 1
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await transport.fetch(url).body } }
      for try await text in group { #expect(text.hasSuffix("hello")) }
    }
  }

  @Test("pins hold behind a proxy that tunnels", arguments: [true, false])
  func tunnelled(isRight: Bool) async throws {
    let origin = try await makeOrigin()
    let port = origin.ports[0]
    let proxy = try LoopbackOrigin { request, connection in
      guard request.method == "CONNECT" else { return connection.answer("no tunnel") }
      connection.tunnel(to: port)
    }
    var ours = setup(origin)
    ours.proxy = .url("http://127.0.0.1:\(proxy.port)", except: "")
    ours.pins = ["localhost": [try await pin(isRight ? "good" : "self", origin, .publicKey)]]
    #expect(
      try await answer(ours, origin) == (isRight ? .success("h2 hello") : .failure(.pinMismatch)))
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

  @Test("a server that wants a client certificate gets it")
  func clientCertificate() async throws {
    let origin = try await makeOrigin()
    let folder = origin.folder.path
    var ours = setup(origin)
    let refused = try await answer(ours, origin, port: 4).get()
    #expect(refused.contains("No required SSL certificate was sent"))
    ours.clientCertificate = ClientCertificate(
      certificateFile: "\(folder)/client.pem", keyFile: "\(folder)/client.key")
    #expect(try await answer(ours, origin, port: 4) == .success("CN=somebody"))
    ours.clientCertificate?.hosts = ["127.0.0.1"]
    #expect(try await answer(ours, origin, port: 4).get().contains("No required"))
    #expect(
      try await answer(ours, origin, port: 4, host: "127.0.0.1") == .success("CN=somebody"))
  }

  @Test("a locked key needs its passphrase, and an unusable one is reported")
  func lockedKey() async throws {
    let origin = try await makeOrigin()
    let folder = origin.folder.path
    var ours = setup(origin)
    func use(_ certificate: String, _ key: String?, _ passphrase: String?) {
      ours.clientCertificate = ClientCertificate(
        certificateFile: "\(folder)/\(certificate)", keyFile: key.map { "\(folder)/\($0)" },
        passphrase: passphrase)
    }
    use("client.pem", "locked.key", "open sesame")
    #expect(try await answer(ours, origin, port: 4) == .success("CN=somebody"))
    for (certificate, key, passphrase) in [
      ("client.pem", "locked.key", "wrong"), ("client.pem", "locked.key", nil),
      ("client.pem", "good.key", nil), ("client.pem", "none.key", nil),
      ("none.pem", "client.key", nil), ("client.pem", nil, nil),
    ] as [(String, String?, String?)] {
      use(certificate, key, passphrase)
      #expect(
        try await answer(ours, origin, port: 4) == .failure(.clientCertificate),
        "\(certificate) \(key ?? "-") \(passphrase ?? "-")")
    }
  }
}

extension TransportError.Code: Error {}
