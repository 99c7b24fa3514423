import Foundation
import MessageDigests
import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Servers with certificates of several kinds. Needs nginx and openssl of Debian.
extension NginxOrigin {
  private static let tlsServers =
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

  /// Starts servers with a good certificate, one for another name, an expired and an unknown one, and
  /// one that wants the certificate of its client.
  static func withTLS() async throws -> NginxOrigin {
    try await NginxOrigin(tlsServers, in: Certificates.make(), ports: 5)
  }

  /// Returns a setup that trusts some authorities.
  func setup(authorities: String? = "ca.pem") -> NetworkSetup {
    var setup = NetworkSetup(proxy: .none)
    setup.certificateAuthoritiesFile = authorities.map { "\(folder.path)/\($0)" }
    return setup
  }

  /// Returns the text of the answer, or why there is none.
  func answer(
    _ setup: NetworkSetup, port: Int = 0, host: String = "localhost"
  ) async throws -> Result<String, TransportError.Code> {
    let transport = try CurlTransport(setup)
    let url = try NormalizedURL(address(port: port, host: host))
    do throws(TransportError) {
      return .success(try await transport.fetch(url).body)
    } catch {
      return .failure(error.code)
    }
  }

  /// Returns a pin that a certificate or its key matches.
  func pin(_ name: String, _ subject: Pin.Subject) async throws -> Pin {
    let der = try await Certificates.der(
      name, in: folder, publicKey: subject == .publicKey)
    return try #require(Pin(subject, digest: MessageDigest.of(der, .sha256)))
  }
}

extension TransportError.Code: Error {}
