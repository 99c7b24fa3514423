import HTTPSemantics
import Testing

@testable import HTTPAuthentication

@Suite struct KeychainStatusTests {
  @Test(
    arguments: [
      (-25300, .notFound), (-25308, .locked), (-25315, .locked), (-25293, .refused),
      (-34018, .missingEntitlement), (-50, .failed), (-25291, .failed), (-25299, .failed),
      (.min, .failed),
    ] as [(Int32, CredentialVaultError.Code)])
  func `each status has its code`(status: Int32, code: CredentialVaultError.Code) {
    #expect(KeychainStatus.failure(status, nil).code == code)
  }

  @Test func `a locked keychain is reported with the server, the cause and the remedy`() throws {
    let url = try NormalizedURL("https://example.org/a?secret")
    let space = ProtectionSpace(url: url, realm: "r", scheme: .basic)
    #expect(
      KeychainStatus.failure(-25308, space).description
        == "keychain, https://example.org:443: the keychain is locked, and the user cannot be asked "
        + "now; try again when the device is unlocked")
    #expect(KeychainStatus.failure(-1, nil).cause == "the keychain fails with the status -1")
  }
}
