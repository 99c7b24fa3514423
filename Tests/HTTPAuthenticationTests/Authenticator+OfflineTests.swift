import ClientTesting
import Testing

@testable import HTTPAuthentication

/// The credential of the vault for what is stored.
@Suite(.timeLimit(.minutes(5)))
struct AuthenticatorOfflineTests {
  private let alice = Credential.password(user: "alice", password: "a", persistence: .permanent)
  private let bob = Credential.password(user: "bob", password: "b", persistence: .permanent)
  private let url: NormalizedURL

  init() throws { url = try NormalizedURL("http://a.example/folder/page") }

  private func space(
    _ realm: String = "r", at text: String = "http://a.example/"
  ) throws -> ProtectionSpace {
    ProtectionSpace(url: try NormalizedURL(text), realm: realm, scheme: .digest)
  }

  private func authenticator(_ vault: MemoryVault) -> Authenticator {
    Authenticator(provider: nil, vault: vault)
  }

  @Test func `the only one of an origin is found, and is not kept`() async throws {
    let vault = MemoryVault([
      try space(): alice, try space("other"): alice, try space(at: "http://b.example/"): bob,
    ])
    let authenticator = authenticator(vault)
    #expect(await authenticator.remembered(at: url) == alice)
    #expect(authenticator.session.credential(for: url) == nil)
    #expect(vault.calls == [.findAll(url)])
    let elsewhere = try NormalizedURL("http://a.example:81/folder/page")
    #expect(await authenticator.remembered(at: elsewhere) == nil)
  }

  @Test func `with several nobody knows which user it is`() async throws {
    let authenticator = authenticator(MemoryVault([try space(): alice, try space("other"): bob]))
    #expect(await authenticator.remembered(at: url) == nil)
  }

  @Test func `one in memory counts, too, wherever at the origin it is sent`() async throws {
    let authenticator = authenticator(MemoryVault([try space(): alice]))
    let other = try NormalizedURL("http://a.example/other/")
    let place = CredentialSession.Space(origin: NormalizedURL.Origin(other), realm: "")
    authenticator.session.keep(alice, in: place, at: other)
    #expect(await authenticator.remembered(at: url) == alice)
    authenticator.session.keep(bob, in: place, at: other)
    #expect(await authenticator.remembered(at: url) == nil)
    authenticator.session.forgetAll()
    let foreign = try NormalizedURL("http://b.example/")
    authenticator.session.keep(
      bob, in: CredentialSession.Space(origin: NormalizedURL.Origin(foreign), realm: ""),
      at: foreign)
    #expect(await authenticator.remembered(at: url) == alice)
  }

  @Test(arguments: [false, true])
  func `what is found while the user logs out is not used`(isEmptied: Bool) async throws {
    let vault = MemoryVault([try space(): alice])
    let authenticator = authenticator(vault)
    vault.wait { call in
      guard case .findAll = call else { return }
      if isEmptied {
        _ = try? await authenticator.forgetCredentials()
      } else {
        authenticator.session.forgetAll(isEmptying: true)
      }
    }
    #expect(await authenticator.remembered(at: url) == nil)
  }

  @Test func `while the vault is being emptied nothing of it is used`() async throws {
    let authenticator = authenticator(MemoryVault([try space(): alice]))
    authenticator.session.forgetAll(isEmptying: true)
    #expect(await authenticator.remembered(at: url) == nil)
  }

  @Test(arguments: [false, true])
  func `a vault that does not answer is not waited for`(isCancelled: Bool) async throws {
    let vault = MemoryVault([try space(): alice])
    let (asked, gate) = (Gate(), Gate())
    vault.wait { _ in
      asked.open()
      _ = await gate.pass()
    }
    defer { gate.open() }
    let authenticator = Authenticator(
      provider: nil, vault: vault, vaultLimit: isCancelled ? .seconds(3600) : .milliseconds(1))
    let waiting = Task { await authenticator.remembered(at: url) }
    _ = await asked.pass()
    if isCancelled { waiting.cancel() }
    #expect(await waiting.value == nil)
  }

  @Test func `a vault that fails is reported, and one without such a list has none`() async throws {
    let vault = MemoryVault([try space(): alice])
    vault.fail { _ in MemoryVault.locked }
    #expect(await authenticator(vault).remembered(at: url) == nil)
    #expect(vault.reported == [MemoryVault.locked])
    #expect(try await OldVault().credentials(at: url).isEmpty)
    #expect(await Authenticator(provider: nil).remembered(at: url) == nil)
  }
}

/// A vault that was written before there was a list.
private struct OldVault: CredentialVault {
  func credential(for space: ProtectionSpace) async throws(CredentialVaultError) -> Credential? {
    .token("t")
  }
  func save(_ credential: Credential, for space: ProtectionSpace) async {}
  func remove(_ credential: Credential, for space: ProtectionSpace) async {}
  func removeAll() async {}
  func report(_ error: CredentialVaultError) {}
}
