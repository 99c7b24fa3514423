public import HTTPSemantics

/// A place where credentials last longer than the program: ``FileCredentialVault``, on Apple
/// platforms `KeychainCredentialVault`, or one of your own.
///
/// A client asks its vault when a server requires a credential and the client has none in memory;
/// then it asks the ``CredentialProvider``. A credential with ``Credential/Persistence/permanent``
/// that the provider gave is saved when a server has accepted it (a status below 400), and removed
/// when a server refuses it. The methods may take long. The client holds no lock while it calls
/// them, and may call them from several tasks at once.
///
/// Without a network no server can require a credential. The client then asks for ``credentials(at:)``
/// if responses are stored for another login than that of a request, or what is stored for nobody is a
/// 401 or too old. It waits two seconds at most.
///
/// If a method fails, the client calls ``report(_:)``, and the request goes on as without a vault.
public protocol CredentialVault: Sendable {
  /// Returns the credential for a space, or `nil` if there is none.
  func credential(for space: ProtectionSpace) async throws(CredentialVaultError) -> Credential?

  /// Returns all credentials for the origin of a URL, whatever their realms and schemes.
  ///
  /// They only find stored responses; they are not sent. By default there are none.
  func credentials(at url: NormalizedURL) async throws(CredentialVaultError) -> [Credential]

  /// Saves a credential for a space in the place of the one that is there.
  ///
  /// - Durability: after the call it survives the end of the process and loss of power.
  func save(_ credential: Credential, for space: ProtectionSpace)
    async throws(CredentialVaultError)

  /// Removes a credential that a server has refused. Another credential for the space stays.
  func remove(_ credential: Credential, for space: ProtectionSpace)
    async throws(CredentialVaultError)

  /// Removes all credentials of the vault, when the user logs out.
  func removeAll() async throws(CredentialVaultError)

  /// Takes note of a failed call that was made for a request. The request continues when this
  /// returns.
  func report(_ error: CredentialVaultError)
}

extension CredentialVault {
  /// Returns no credentials.
  public func credentials(
    at url: NormalizedURL
  ) async throws(CredentialVaultError) -> [Credential] { [] }
}

/// The reason why a ``CredentialVault`` cannot be used. It contains no secret.
public struct CredentialVaultError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of error; later versions may have more.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name of the kind.
    public let rawValue: String
    /// Creates a kind from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The vault is locked, and the user must not or cannot be asked to unlock it now.
    public static let locked = Code(rawValue: "locked")
    /// The vault refuses access to the item.
    public static let refused = Code(rawValue: "refused")
    /// The program is not signed with the entitlement for the keychain or the access group.
    public static let missingEntitlement = Code(rawValue: "missingEntitlement")
    /// The item to be changed is not there.
    public static let notFound = Code(rawValue: "notFound")
    /// The file or its folder is a link, belongs to another user, or is accessible to others.
    public static let untrusted = Code(rawValue: "untrusted")
    /// The content is damaged.
    public static let damaged = Code(rawValue: "damaged")
    /// A newer version wrote the file.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// There are too many or too long credentials.
    public static let tooLarge = Code(rawValue: "tooLarge")
    /// The disk or the user's quota is full.
    public static let noSpace = Code(rawValue: "noSpace")
    /// Any other failure.
    public static let failed = Code(rawValue: "failed")
  }

  /// The kind of the error.
  public let code: Code
  /// The path of the file, or the keychain and the server.
  public let path: String
  /// The cause, as a sentence without a full stop.
  public let cause: String
  /// The remedy.
  public let remedy: String

  /// Creates an error. The texts must not contain secrets.
  public init(_ code: Code, path: String, cause: String, remedy: String) {
    self.code = code
    self.path = path
    self.cause = cause
    self.remedy = remedy
  }

  /// The path, the cause and the remedy.
  public var description: String { "\(path): \(cause); \(remedy)" }
}
