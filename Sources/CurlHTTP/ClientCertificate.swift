/// Names the certificate with which a program proves to servers who it is.
public struct ClientCertificate: Sendable, Hashable, CustomReflectable {
  /// Names the file of the certificate (PEM), followed by those of the authorities between it and the
  /// one that the server trusts.
  public var certificateFile: String

  /// Names the file of the private key (PEM); nil: it is in the file of the certificate.
  public var keyFile: String?

  /// Gives the passphrase of the private key; nil: it has none.
  public var passphrase: String?

  /// Names the hosts that get it when they ask for one, in lower case; nil: every server that asks,
  /// also one that a redirect leads to.
  public var hosts: Set<String>?

  /// Names a certificate; the files are read when a connection is made.
  public init(
    certificateFile: String, keyFile: String? = nil, passphrase: String? = nil,
    hosts: Set<String>? = nil
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.passphrase = passphrase
    self.hosts = hosts
  }

  /// Shows all but the passphrase, so that a dump of a set-up has no secret.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "certificateFile": certificateFile, "keyFile": keyFile ?? "", "hosts": hosts ?? [],
      ])
  }
}
