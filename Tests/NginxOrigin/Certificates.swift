package import Foundation

/// Makes certificates with openssl, in a folder of its own.
///
/// `ca.pem` signs `good.pem` (localhost, 127.0.0.1), `other.pem` (elsewhere.test), `expired.pem`
/// and `client.pem`; `self.pem` (localhost) signs itself. Each has a key, `good.key` and so on;
/// `locked.key` is that of the client with the passphrase `open sesame`.
package enum Certificates {
  /// Makes them all; about half a second.
  ///
  /// - Returns: the folder, for an ``NginxOrigin``.
  package static func make() async throws -> TemporaryFolder {
    let folder = TemporaryFolder()
    let maker = Maker(folder: folder.url)
    try await maker.sign("ca", subject: "Test CA", extensions: "basicConstraints=critical,CA:TRUE")
    let here = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    try await maker.sign("self", subject: "localhost", extensions: here)
    try await maker.issue("good", subject: "localhost", extensions: here)
    try await maker.issue("other", subject: "elsewhere.test")
    try await maker.issue("expired", subject: "localhost", extensions: here, days: -1)
    try await maker.issue("client", subject: "somebody")
    try await maker.openssl(
      "pkey", "-in", maker.path("client.key"), "-aes256", "-passout", "pass:open sesame", "-out",
      maker.path("locked.key"))
    return folder
  }

  /// Returns the DER of a certificate that ``make()`` has made, or of the public key in it.
  package static func der(
    _ name: String, in folder: URL, publicKey: Bool = false
  ) async throws -> [UInt8] {
    let maker = Maker(folder: folder)
    let out = maker.path("\(name)-\(publicKey).der")
    if publicKey {
      try await maker.openssl(
        "pkey", "-in", maker.path("\(name).key"), "-pubout", "-outform", "DER", "-out", out)
    } else {
      try await maker.openssl(
        "x509", "-in", maker.path("\(name).pem"), "-outform", "DER", "-out", out)
    }
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: out)))
  }
}

private struct Maker {
  let folder: URL

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  func openssl(_ arguments: String...) async throws {
    try await Program.run("openssl", arguments)
  }

  /// Makes a certificate that signs itself.
  func sign(_ name: String, subject: String, extensions: String) async throws {
    try await openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
      path("\(name).key"), "-out", path("\(name).pem"), "-days", "2", "-subj", "/CN=\(subject)",
      "-addext", extensions)
  }

  /// Makes a certificate that the authority signs.
  func issue(
    _ name: String, subject: String, extensions: String? = nil, days: Int = 2
  ) async throws {
    let names = extensions ?? "subjectAltName=DNS:\(subject)"
    try names.write(toFile: path("\(name).ext"), atomically: true, encoding: .utf8)
    try await openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
      path("\(name).key"), "-out", path("\(name).csr"), "-subj", "/CN=\(subject)")
    try await openssl(
      "x509", "-req", "-in", path("\(name).csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"),
      "-CAcreateserial", "-out", path("\(name).pem"), "-days", "\(days)", "-extfile",
      path("\(name).ext"))
  }
}
