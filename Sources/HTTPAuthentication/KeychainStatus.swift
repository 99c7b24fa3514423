import HTTPSemantics

/// Translates the results of the keychain's calls. They are numbers here, so that this can be tested
/// where there is no keychain.
enum KeychainStatus {
  /// Returns the error for a status that is not `errSecSuccess` (SecBase.h).
  ///
  /// - Parameter space: the item's; `nil` for all items.
  static func failure(_ status: Int32, _ space: ProtectionSpace?) -> CredentialVaultError {
    switch status {
    case -25300:  // errSecItemNotFound
      failure(.notFound, space, "the item is not there any more", "save it again")
    case -25308, -25315:  // errSecInteractionNotAllowed, errSecInteractionRequired
      failure(
        .locked, space, "the keychain is locked, and the user cannot be asked now",
        "try again when the device is unlocked")
    case -25293:  // errSecAuthFailed
      failure(
        .refused, space, "the keychain refuses access",
        "unlock it, and check the access rights of the item")
    case -34018:  // errSecMissingEntitlement
      failure(
        .missingEntitlement, space, "the program may not use the keychain or the access group",
        "sign it with the entitlement keychain-access-groups")
    default:
      failure(
        .failed, space, "the keychain fails with the status \(status)",
        "run `security error \(status)` on a Mac for its meaning")
    }
  }

  static func failure(
    _ code: CredentialVaultError.Code, _ space: ProtectionSpace?, _ cause: String,
    _ remedy: String
  ) -> CredentialVaultError {
    let item = space.map { ", \($0.urlScheme.rawValue)://\($0.host):\($0.port)" } ?? ""
    return CredentialVaultError(code, path: "keychain\(item)", cause: cause, remedy: remedy)
  }
}
