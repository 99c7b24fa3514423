/// The certificate with which a program authenticates itself to servers.
public struct ClientCertificate: Sendable, Hashable, CustomReflectable {
  /// The file of the certificate (PEM), followed by those of the authorities between it and the one
  /// that the server trusts.
  public var certificateFile: String

  /// The file of the private key (PEM), or `nil` if it is in the file of the certificate.
  public var keyFile: String?

  /// The passphrase of the private key, or `nil` if it has none.
  public var passphrase: String?

  /// The hosts that get the certificate if they ask for one, in lower case. `nil` means every
  /// server that asks, even after a redirect.
  public var hosts: Set<String>?

  /// Creates a certificate. The files are read when a connection is made.
  public init(
    certificateFile: String, keyFile: String? = nil, passphrase: String? = nil,
    hosts: Set<String>? = nil
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.passphrase = passphrase
    self.hosts = hosts
  }

  /// All properties except the passphrase, so that a dump of the set-up has no secret.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "certificateFile": certificateFile, "keyFile": keyFile ?? "", "hosts": hosts ?? [],
      ])
  }
}
