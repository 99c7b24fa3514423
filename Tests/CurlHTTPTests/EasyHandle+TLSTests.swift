import Foundation
import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Needs nginx and openssl of Debian.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct EasyHandleTLSTests {
  @Test("a server is trusted if its certificate is of a trusted authority, for its name, and valid")
  func trust() async throws {
    let origin = try await NginxOrigin.withTLS()
    let ours = origin.setup()
    #expect(try await origin.answer(ours) == .success("h2 hello"))
    #expect(try await origin.answer(ours, host: "127.0.0.1") == .success("h2 hello"))
    for port in 1...3 {
      #expect(try await origin.answer(ours, port: port) == .failure(.certificate), "port \(port)")
    }
    #expect(try await origin.answer(origin.setup(authorities: nil)) == .failure(.certificate))
    let own = origin.setup(authorities: "self.pem")
    #expect(try await origin.answer(own, port: 3) == .success("h2 hello"))
    let none = origin.setup(authorities: "nothing.pem")
    #expect(try await origin.answer(none) == .failure(.authoritiesFile))
  }

  @Test("without HTTP/2 the same server answers by HTTP/1.1")
  func version() async throws {
    let origin = try await NginxOrigin.withTLS()
    var ours = origin.setup()
    let url = try NormalizedURL(origin.address())
    #expect(try await CurlTransport(ours).fetch(url).response.version == "2")
    ours.usesHTTP2 = false
    #expect(try await CurlTransport(ours).fetch(url).response.version == "1.1")
  }

  @Test("transfers that wait for a connection get one", arguments: [true, false])
  func waiting(usesHTTP2: Bool) async throws {
    let origin = try await NginxOrigin.withTLS()
    var ours = origin.setup()
    ours.usesHTTP2 = usesHTTP2
    ours.connectionsPerHost = 1
    let transport = try CurlTransport(ours)
    let url = try NormalizedURL(origin.address())
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await transport.fetch(url).body } }
      for try await text in group { #expect(text.hasSuffix("hello")) }
    }
  }

  @Test("a server that wants a client certificate gets it")
  func clientCertificate() async throws {
    let origin = try await NginxOrigin.withTLS()
    let folder = origin.folder.path
    var ours = origin.setup()
    let refused = try await origin.answer(ours, port: 4).get()
    #expect(refused.contains("No required SSL certificate was sent"))
    ours.clientCertificate = ClientCertificate(
      certificateFile: "\(folder)/client.pem", keyFile: "\(folder)/client.key")
    #expect(try await origin.answer(ours, port: 4) == .success("CN=somebody"))
    ours.clientCertificate?.hosts = ["127.0.0.1"]
    #expect(try await origin.answer(ours, port: 4).get().contains("No required"))
    #expect(
      try await origin.answer(ours, port: 4, host: "127.0.0.1") == .success("CN=somebody"))
  }

  @Test("a locked key needs its passphrase, and an unusable one is reported")
  func lockedKey() async throws {
    let origin = try await NginxOrigin.withTLS()
    let folder = origin.folder.path
    var ours = origin.setup()
    func use(_ certificate: String, _ key: String?, _ passphrase: String?) {
      ours.clientCertificate = ClientCertificate(
        certificateFile: "\(folder)/\(certificate)", keyFile: key.map { "\(folder)/\($0)" },
        passphrase: passphrase)
    }
    use("client.pem", "locked.key", "open sesame")
    let unlocked = try await origin.answer(ours, port: 4)
    #expect(unlocked == .success("CN=somebody"))
    for (certificate, key, passphrase) in [
      ("client.pem", "locked.key", "wrong"), ("client.pem", "locked.key", nil),
      ("client.pem", "good.key", nil), ("client.pem", "none.key", nil),
      ("none.pem", "client.key", nil), ("client.pem", nil, nil),
    ] as [(String, String?, String?)] {
      use(certificate, key, passphrase)
      #expect(
        try await origin.answer(ours, port: 4) == .failure(.clientCertificate),
        "\(certificate) \(key ?? "-") \(passphrase ?? "-")")
    }
  }
}
