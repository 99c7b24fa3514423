import CacheSystem
import ClientTesting
import HTTPAuthentication
import HTTPSemantics
import Synchronization

/// A vault in memory that notes its calls, and fails or waits as a test says.
final class MemoryVault: CredentialVault {
  enum Call: Hashable {
    case find(ProtectionSpace)
    case findAll(NormalizedURL)
    case save(Credential, ProtectionSpace)
    case remove(Credential, ProtectionSpace)
    case removeAll
  }

  struct State {
    var content: [ProtectionSpace: Credential] = [:]
    var calls: [Call] = []
    var reported: [CredentialVaultError] = []
    /// The error of the calls for which it returns one.
    var failure: @Sendable (Call) -> CredentialVaultError? = { _ in nil }
    var before: @Sendable (Call) async -> Void = { _ in }
  }

  static let locked = CredentialVaultError(
    .locked, path: "keychain", cause: "it is locked", remedy: "unlock it")

  private let state: Mutex<State>

  init(_ content: [ProtectionSpace: Credential] = [:]) {
    state = Mutex(State(content: content))
  }

  var content: [ProtectionSpace: Credential] { state.withLock { $0.content } }
  var calls: [Call] { state.withLock { $0.calls } }
  var reported: [CredentialVaultError] { state.withLock { $0.reported } }

  func fail(_ failure: @escaping @Sendable (Call) -> CredentialVaultError?) {
    state.withLock { $0.failure = failure }
  }

  func wait(_ before: @escaping @Sendable (Call) async -> Void) {
    state.withLock { $0.before = before }
  }

  func credential(for space: ProtectionSpace) async throws(CredentialVaultError) -> Credential? {
    try await enter(.find(space)) { $0[space] }
  }

  func credentials(
    at url: NormalizedURL
  ) async throws(CredentialVaultError) -> [Credential] {
    try await enter(.findAll(url)) { content in
      content.filter {
        $0.key == ProtectionSpace(url: url, realm: $0.key.realm, scheme: $0.key.scheme)
      }.map(\.value)
    }
  }

  func save(
    _ credential: Credential, for space: ProtectionSpace
  ) async throws(CredentialVaultError) {
    try await enter(.save(credential, space)) { $0[space] = credential }
  }

  func remove(
    _ credential: Credential, for space: ProtectionSpace
  ) async throws(CredentialVaultError) {
    try await enter(.remove(credential, space)) {
      if $0[space] == credential { $0[space] = nil }
    }
  }

  func removeAll() async throws(CredentialVaultError) {
    try await enter(.removeAll) { $0 = [:] }
  }

  func report(_ error: CredentialVaultError) {
    // Traps if the caller holds a lock.
    callOut { state.withLock { $0.reported.append(error) } }
  }

  private func enter<R: Sendable>(
    _ call: Call, _ body: @Sendable (inout [ProtectionSpace: Credential]) -> R
  ) async throws(CredentialVaultError) -> R {
    let (failure, before) = callOut {
      state.withLock { state in
        state.calls.append(call)
        return (state.failure, state.before)
      }
    }
    if let error = failure(call) { throw error }
    let result = state.withLock { body(&$0.content) }
    await before(call)
    return result
  }
}
