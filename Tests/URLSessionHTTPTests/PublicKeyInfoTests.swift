import Foundation
import HTTPTransports
import NginxOrigin
import Testing

@testable import URLSessionHTTP

@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct PublicKeyInfoTests {
  @Test func `the key, the pins and the blocks are those that openssl finds`() async throws {
    let folder = try await Certificates.make()
    for name in ["ca", "good", "self"] {
      let certificate = try await Certificates.der(name, in: folder.url)
      let key = try await Certificates.der(name, in: folder.url, publicKey: true)
      #expect(PublicKeyInfo.of(certificate: certificate).map { Array($0) } == key)
      #expect(Set(ServerCheck.pins(of: certificate).map(\.subject)) == [.publicKey, .certificate])
      let text = try String(
        contentsOf: folder.url.appendingPathComponent("\(name).pem"), encoding: .utf8)
      #expect(PEM.contents(of: "CERTIFICATE", in: text) == [certificate])
      #expect(PEM.contents(of: "CERTIFICATE", in: text + "\n" + text).count == 2)
      #expect(
        PEM.contents(of: "CERTIFICATE", in: text.replacing("\n", with: "\r\n")) == [certificate])
      #expect(PEM.contents(of: "PRIVATE KEY", in: text).isEmpty)
    }
  }

  @Test func `a damaged certificate has no key, or the bytes of one, and never traps`() async throws
  {
    let folder = try await Certificates.make()
    let certificate = try await Certificates.der("good", in: folder.url)
    for count in certificate.indices {
      #expect(PublicKeyInfo.of(certificate: Array(certificate[..<count])) == nil)
    }
    #expect(PublicKeyInfo.of(certificate: certificate + [0]) == nil)
    for place in certificate.indices {
      for value in [0x00, 0x7F, 0x80, 0x84, 0x88, 0xFF] as [UInt8] {
        var damaged = certificate
        damaged[place] = value
        let found = PublicKeyInfo.of(certificate: damaged)
        #expect(found?.count ?? 0 <= certificate.count)
      }
    }
    #expect(PublicKeyInfo.of(certificate: []) == nil)
  }
}

@Suite struct PEMTests {
  @Test(arguments: [
    "", "-----BEGIN X-----\n-----END X-----\n", "-----BEGIN X-----\nAA*=\n-----END X-----",
    "-----BEGIN X-----\nAAAA\n", "AAAA\n-----END X-----",
    "-----BEGIN Y-----\nAAAA\n-----END Y-----",
  ])
  func `what is no block is left out`(text: String) {
    #expect(PEM.contents(of: "X", in: text).isEmpty)
  }
}
