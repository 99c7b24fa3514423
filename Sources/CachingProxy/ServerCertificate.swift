import CMicrohttpd

/// A certificate and its key, as PEM texts, for clients of a server with TLS.
package struct ServerCertificate: Sendable, Hashable {
  /// The certificate, and after it those of its authorities up to one that clients know.
  package var certificates: [UInt8]
  /// The private key, without a passphrase.
  package var key: [UInt8]

  package init(certificates: [UInt8], key: [UInt8]) {
    self.certificates = certificates
    self.key = key
  }

  /// Makes the server of a port use the certificate for connections from now on.
  ///
  /// - Throws: ``ProxyError`` with the code `certificate`.
  func use(at address: ListenAddress) throws(ProxyError) {
    // Safety: both texts are read during the call.
    let code = unsafe certificates.withUnsafeBytes { certificates in
      unsafe key.withUnsafeBytes { key in
        unsafe ocmhd_use_certificate(
          address.port, certificates.baseAddress, certificates.count, key.baseAddress, key.count)
      }
    }
    let detail =
      switch code {
      case 0: ""
      case 1: "the file of the certificate has none in PEM"
      case 2: "the file of the key has none in PEM without a passphrase"
      case 3: "the key is not that of the certificate"
      default: "there is no memory, or there are too many servers"
      }
    if code != 0 {
      throw ProxyError(.certificate, subject: address.description, detail: detail)
    }
  }

  /// Frees the certificates of a server that has stopped.
  static func forget(at address: ListenAddress) { ocmhd_forget_certificates(address.port) }
}
