#if canImport(Security)
  import CacheSystem
  import Foundation
  public import HTTPSemantics
  import Security

  /// Keeps credentials in the keychain of an Apple platform, as internet passwords of this program.
  ///
  /// One item for each ``ProtectionSpace``, with server, port, protocol, security domain (the realm),
  /// authentication type and account. Only items that a vault has made are read, changed and removed:
  /// they have the creator `OfCa`. They are not synchronized with other devices.
  ///
  /// On macOS the program must be signed with a keychain access group, because the data protection
  /// keychain is used; an unsigned tool gets `missingEntitlement`.
  public struct KeychainCredentialVault: CredentialVault {
    /// When an item can be read (`kSecAttrAccessible`).
    public enum Accessibility: Sendable, Hashable {
      /// While the device is unlocked.
      case whenUnlocked
      /// While the device is unlocked; never moved to another device by a backup.
      case whenUnlockedThisDeviceOnly
      /// From the first unlocking after a start on, so also in the background.
      case afterFirstUnlock
      /// From the first unlocking after a start on; never moved to another device by a backup.
      case afterFirstUnlockThisDeviceOnly

      fileprivate var value: CFString {
        switch self {
        case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
        case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        }
      }
    }

    /// "OfCa", as a four-character code.
    private static let creator = 0x4F66_4361

    private let accessibility: Accessibility
    private let accessGroup: String?
    private let onProblem: @Sendable (CredentialVaultError) -> Void
    /// One thread, so that the keychain blocks no thread of the cooperative pool, and no call of this
    /// process comes between the two of another.
    private let pool = WorkerPool(threads: 1)

    /// Creates a vault; the keychain is not used before the first call.
    ///
    /// - Parameters:
    ///   - accessibility: when the items can be read.
    ///   - accessGroup: the keychain access group, for programs that share the items; `nil` for the
    ///     first one of this program.
    ///   - onProblem: is called for each failure while a request is sent. The request goes on when it
    ///     returns.
    public init(
      accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly, accessGroup: String? = nil,
      onProblem: @escaping @Sendable (CredentialVaultError) -> Void
    ) {
      self.accessibility = accessibility
      self.accessGroup = accessGroup
      self.onProblem = onProblem
    }

    /// Returns the credential for a space, or `nil` if there is none.
    ///
    /// - Throws: ``CredentialVaultError`` with `locked`, `refused`, `missingEntitlement`, `damaged` or
    ///   `failed`.
    public func credential(
      for space: ProtectionSpace
    ) async throws(CredentialVaultError) -> Credential? {
      try await pool.call { [self] () throws(CredentialVaultError) in try find(space) }
    }

    /// Returns all credentials for the origin of a URL.
    ///
    /// - Throws: ``CredentialVaultError`` as ``credential(for:)``.
    public func credentials(
      at url: NormalizedURL
    ) async throws(CredentialVaultError) -> [Credential] {
      try await pool.call { [self] () throws(CredentialVaultError) in
        var found: [Credential] = []
        for space in try spaces(at: url) {
          if let credential = try find(space) { found.append(credential) }
        }
        return found
      }
    }

    /// Saves a credential for a space in the place of the one that is there.
    ///
    /// - Throws: ``CredentialVaultError`` with `locked`, `refused`, `missingEntitlement` or `failed`.
    /// - Durability: as the system makes the keychain durable.
    public func save(
      _ credential: Credential, for space: ProtectionSpace
    ) async throws(CredentialVaultError) {
      try await pool.call { [self] () throws(CredentialVaultError) in try put(credential, space) }
    }

    /// Removes a credential that a server has refused. Another credential for the space stays.
    ///
    /// - Throws: the errors of ``credential(for:)``.
    public func remove(
      _ credential: Credential, for space: ProtectionSpace
    ) async throws(CredentialVaultError) {
      try await pool.call { [self] () throws(CredentialVaultError) in
        guard try find(space) == credential else { return }
        try delete(query(space), space)
      }
    }

    /// Removes all items that vaults with the same access group have made.
    ///
    /// - Throws: ``CredentialVaultError`` with `locked`, `refused`, `missingEntitlement` or `failed`.
    public func removeAll() async throws(CredentialVaultError) {
      try await pool.call { [self] () throws(CredentialVaultError) in try delete(query(), nil) }
    }

    /// Calls the closure that the vault was created with.
    public func report(_ error: CredentialVaultError) { onProblem(error) }
  }

  // The calls of the keychain, which block.
  extension KeychainCredentialVault {
    private typealias Query = [String: Any]

    private func find(_ space: ProtectionSpace) throws(CredentialVaultError) -> Credential? {
      var query = query(space)
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      query[kSecReturnAttributes as String] = true
      query[kSecReturnData as String] = true
      var found: CFTypeRef?
      // Safety: the call writes one reference, which the variable owns.
      let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      try check(status, space)
      guard let item = found as? Query, let data = item[kSecValueData as String] as? Data,
        let secret = String(validating: data, as: UTF8.self)
      else {
        throw KeychainStatus.failure(
          .damaged, space, "the item has no text", "remove it, and log in again")
      }
      if space.scheme == .bearer { return .token(secret, persistence: .permanent) }
      let user = item[kSecAttrAccount as String] as? String
      return .password(user: user ?? "", password: secret, persistence: .permanent)
    }

    /// Returns the spaces of the items for the origin of a URL.
    private func spaces(at url: NormalizedURL) throws(CredentialVaultError) -> [ProtectionSpace] {
      let any = ProtectionSpace(url: url, realm: "", scheme: .basic)
      var query = query(any)
      query[kSecAttrSecurityDomain as String] = nil
      query[kSecAttrAuthenticationType as String] = nil
      query[kSecMatchLimit as String] = kSecMatchLimitAll
      query[kSecReturnAttributes as String] = true
      var found: CFTypeRef?
      // Safety: the call writes one reference, which the variable owns.
      let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return [] }
      try check(status, any)
      return (found as? [Query] ?? []).compactMap { item in
        let type = item[kSecAttrAuthenticationType as String] as? String
        guard let scheme = Self.schemes.first(where: { authenticationType($0) as String == type })
        else { return nil }
        let realm = item[kSecAttrSecurityDomain as String] as? String
        return ProtectionSpace(url: url, realm: realm ?? "", scheme: scheme)
      }
    }

    private func put(
      _ credential: Credential, _ space: ProtectionSpace
    ) throws(CredentialVaultError) {
      let query = query(space)
      let attributes = attributes(of: credential)
      var status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
      if status == errSecDuplicateItem {
        // Two programs have added an item at the same time, for two accounts.
        try delete(query, space)
        status = errSecItemNotFound
      }
      if status == errSecItemNotFound {
        let item = query.merging(attributes) { _, new in new }
        status = SecItemAdd(item as CFDictionary, nil)
      }
      try check(status, space)
    }

    private func delete(_ query: Query, _ space: ProtectionSpace?) throws(CredentialVaultError) {
      let status = SecItemDelete(query as CFDictionary)
      if status != errSecItemNotFound { try check(status, space) }
    }

    /// Returns the attributes that find the items of vaults, or the one for a space.
    private func query(_ space: ProtectionSpace? = nil) -> Query {
      var query: Query = [
        kSecClass as String: kSecClassInternetPassword,
        kSecAttrCreator as String: Self.creator,
        kSecUseDataProtectionKeychain as String: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
      guard let space else { return query }
      query[kSecAttrServer as String] = space.host
      query[kSecAttrPort as String] = space.port
      query[kSecAttrProtocol as String] =
        space.urlScheme == .https ? kSecAttrProtocolHTTPS : kSecAttrProtocolHTTP
      query[kSecAttrSecurityDomain as String] = space.realm
      query[kSecAttrAuthenticationType as String] = authenticationType(space.scheme)
      return query
    }

    private static let schemes: [AuthenticationChallenge.Scheme] = [.bearer, .digest, .basic]

    private func authenticationType(_ scheme: AuthenticationChallenge.Scheme) -> CFString {
      switch scheme {
      case .bearer: kSecAttrAuthenticationTypeDefault
      case .digest: kSecAttrAuthenticationTypeHTTPDigest
      case .basic: kSecAttrAuthenticationTypeHTTPBasic
      }
    }

    private func attributes(of credential: Credential) -> Query {
      let (account, secret) =
        switch credential.secret {
        case .password(let user, let password): (user, password)
        case .token(let token): ("", token)
        }
      return [
        kSecAttrAccount as String: account,
        kSecValueData as String: Data(secret.utf8),
        kSecAttrAccessible as String: accessibility.value,
      ]
    }

    private func check(
      _ status: OSStatus, _ space: ProtectionSpace?
    ) throws(CredentialVaultError) {
      if status != errSecSuccess { throw KeychainStatus.failure(status, space) }
    }
  }
#endif
