#if canImport(Security)
  import Foundation
  import HTTPTransports
  import Security

  struct ClientIdentity: Sendable {
    private let hosts: Set<String>?
    private let identity: SecIdentity
    private let chain: [SecCertificate]

    /// Reads a file in PKCS #12, the only form that the system takes without a keychain.
    ///
    /// - Throws: `clientCertificate`.
    init(_ certificate: ClientCertificate) throws(TransportError) {
      func refuse(_ detail: String) -> TransportError {
        TransportError(
          .clientCertificate, url: "https:", detail: "\(certificate.certificateFile): \(detail)")
      }
      guard let data = FileManager.default.contents(atPath: certificate.certificateFile) else {
        throw refuse("it cannot be read")
      }
      // Not into the user's keychain, as macOS would.
      let options: [String: Any] = [
        kSecImportExportPassphrase as String: certificate.passphrase ?? "",
        kSecImportToMemoryOnly as String: true,
      ]
      var items: CFArray?
      let status = unsafe SecPKCS12Import(data as CFData, options as CFDictionary, &items)
      guard status == errSecSuccess else {
        throw refuse(
          status == errSecAuthFailed || status == errSecPkcs12VerifyFailure
            ? "the passphrase is wrong"
            : "it is not PKCS #12 (status \(status)); make one with openssl pkcs12 -export")
      }
      let first = (items as? [[String: Any]])?.first
      guard let found = first?[kSecImportItemIdentity as String] else {
        throw refuse("it has no private key")
      }
      // The system says that this is the type of the value.
      identity = found as! SecIdentity
      let all = first?[kSecImportItemCertChain as String] as? [SecCertificate]
      chain = Array(all?.dropFirst() ?? [])
      hosts = certificate.hosts
    }

    func isFor(_ host: String) -> Bool {
      hosts?.contains(NetworkSetup.withoutDot(host.lowercased())) ?? true
    }

    var credential: URLCredential {
      URLCredential(identity: identity, certificates: chain, persistence: .none)
    }
  }
#endif
