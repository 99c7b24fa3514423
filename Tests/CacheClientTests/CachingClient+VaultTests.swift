import CLibrary
import CacheSystem
import ClientTesting
import MessageDigests
import Synchronization
import Testing

@testable import CacheClient
@testable import HTTPAuthentication

/// Log-in from a vault without a network, after a restart.
@Suite(.timeLimit(.minutes(5)))
struct CachingClientVaultTests {
  private static let alice = Credential.password(
    user: GuardedOrigin.user, password: GuardedOrigin.password, persistence: .permanent)
  private static let bob = Credential.password(user: "bob", password: "b", persistence: .permanent)
  private static let token = Credential.token("abc.def", persistence: .permanent)

  private let folder = TemporaryFolder()

  private var vault: FileCredentialVault {
    FileCredentialVault(path: folder.path + "/vault/credentials.json") { Issue.record($0) }
  }

  private func rules(keepsNoStore: Bool = false) -> CacheRules {
    var rules = CacheRules()
    (rules.keepsHistory, rules.keepsNoStore) = (true, keepsNoStore)
    return rules
  }

  /// Returns a client that has logged in.
  private func sandbox(
    _ credential: Credential,
    _ answer: @escaping @Sendable (HTTPRequest) -> ScriptedTransport.Answer
  ) throws -> ClientSandbox {
    var options = ClientOptions(credentials: { _ in .use(credential) })
    options.credentialVault = vault
    options.rules = rules(keepsNoStore: true)
    return try ClientSandbox(ScriptedTransport { .success(answer($0)) }, options)
  }

  /// Returns another client on the same store, which knows the user from the vault only.
  private func restarted(
    _ sandbox: ClientSandbox,
    _ mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)? = nil
  ) -> CachingClient {
    var options = ClientOptions()
    options.mayReturnStored = mayReturnStored
    options.credentialVault = vault
    options.rules = rules(keepsNoStore: true)
    options.fingerprintKey = FingerprintKey(bytes: Array(repeating: 7, count: 32))
    return CachingClient(
      store: sandbox.store, transport: sandbox.transport, options: options, clock: sandbox.clock)
  }

  /// Returns the text of an answer without a network, or the reason why there is none.
  private func offline(
    _ client: CachingClient, _ request: HTTPRequest, _ policy: CachePolicy = .offline
  ) async throws -> String {
    do throws(ClientError) {
      let answer = try await client.data(for: request, options: FetchOptions(policy: policy))
      #expect(answer.response.request.fields == request.fields)
      return String(decoding: answer.bytes, as: UTF8.self)
    } catch {
      guard case .notStored(let reason) = error.cause else { throw error }
      return "\(reason)"
    }
  }

  private let other = "\(ForwardReason.otherVariant)"

  @Test(arguments: [Guard.basic, .digest(.sha256, isSession: false), .bearer])
  func `what is stored for the only user of the vault is found`(_ kind: Guard) async throws {
    let origin = GuardedOrigin(kind)
    var credential = Self.alice
    if case .bearer = kind { credential = Self.token }
    let sandbox = try sandbox(credential, origin.answer)
    #expect(await sandbox.outcome(request()).error == nil)
    let client = restarted(sandbox)
    let count = sandbox.transport.requests.count
    for policy in [CachePolicy.offline, .storedOnly] {
      #expect(try await offline(client, request(), policy) == "secret")
    }
    let named = request("/a", [HTTPField("Authorization", "Bearer x")])
    #expect(try await offline(client, named) == other)
    #expect(sandbox.transport.requests.count == count)
    // Nothing is sent before the server asks.
    _ = try await client.data(for: request("/b"))
    #expect(sandbox.transport.requests[count].fields.first(named: "Authorization") == nil)
  }

  @Test func `another user, several, or one that has logged out finds nothing`() async throws {
    let sandbox = try sandbox(Self.alice, GuardedOrigin(.basic).answer)
    #expect(await sandbox.outcome(request()).error == nil)
    let client = restarted(sandbox)
    #expect(try await offline(client, request()) == "secret")
    client.use(Self.bob, for: try NormalizedURL("http://example.com/folder/"))
    #expect(try await offline(client, request()) == other)
    try await client.forgetCredentials()
    #expect(try await offline(client, request()) == other)
    let space = ProtectionSpace(url: request().url, realm: "r", scheme: .basic)
    try await vault.save(Self.bob, for: space)
    #expect(try await offline(client, request()) == other)
    let digest = ProtectionSpace(url: request().url, realm: "r", scheme: .digest)
    try await vault.save(Self.alice, for: digest)
    #expect(try await offline(client, request()) == other)
    try await vault.remove(Self.bob, for: space)
    #expect(try await offline(client, request()) == "secret")
    // A file that was written meanwhile would be for no user for certain.
    let before = client.loginState
    _ = try await offline(client, request())
    #expect(client.loginState != before)
  }

  @Test(arguments: ["max-age=60", "max-age=60, no-cache"])
  func `a stored 401 does not hide what is stored for the user`(control: String) async throws {
    let sandbox = try sandbox(Self.alice) { request in
      request.fields.contains("Authorization")
        ? ScriptedTransport.Answer(
          "secret", fields: [HTTPField("Cache-Control", "private, max-age=60")])
        : ScriptedTransport.Answer(
          status: 401,
          fields: [
            HTTPField("WWW-Authenticate", "Basic realm=r"), HTTPField("Cache-Control", control),
          ])
    }
    #expect(await sandbox.outcome(request()).error == nil)
    let client = restarted(sandbox)
    #expect(client.storedAnswer(to: request(), options: FetchOptions(policy: .offline)) == nil)
    #expect(try await offline(client, request()) == "secret")
    try await client.forgetCredentials()
    let answer = try? await client.data(for: request(), options: FetchOptions(policy: .offline))
    #expect(answer?.bytes.isEmpty ?? true)
  }

  @Test func `a cancelled task does not wait for a vault that is locked`() async throws {
    let sandbox = try sandbox(Self.alice, GuardedOrigin(.basic).answer)
    #expect(await sandbox.outcome(request()).error == nil)
    let client = restarted(sandbox)
    let holder = unsafe open(folder.path + "/vault", O_RDONLY)
    defer { close(holder) }
    #expect(holder >= 0 && flock(holder, LOCK_EX | LOCK_NB) == 0)
    let waiting = Task {
      try await client.data(for: request(), options: FetchOptions(policy: .offline))
    }
    waiting.cancel()
    let error = await #expect(throws: ClientError.self) { try await waiting.value }
    #expect(error?.isCancellation == true)
  }

  @Test func `what is found before the user logs out is not returned after that`() async throws {
    let sandbox = try sandbox(Self.alice, GuardedOrigin(.basic).answer)
    #expect(await sandbox.outcome(request()).error == nil)
    let logsOut = Mutex<@Sendable () -> Void>({})
    let client = restarted(sandbox) { _, _ in
      logsOut.withLock { $0 }()
      return true
    }
    #expect(try await offline(client, request()) == "secret")
    logsOut.withLock { $0 = { [session = client.authenticator.session] in session.forgetAll() } }
    #expect(try await offline(client, request()) == other)
  }

  @Test func `redirects and the history are found, too`() async throws {
    let sandbox = try sandbox(Self.alice) { request in
      guard request.fields.contains("Authorization") else {
        return ScriptedTransport.Answer(
          status: 401, fields: [HTTPField("WWW-Authenticate", "Basic realm=r")])
      }
      return request.url.target == "/"
        ? ScriptedTransport.Answer(status: 302, fields: [HTTPField("Location", "/page")])
        : ScriptedTransport.Answer("page", fields: [HTTPField("Cache-Control", "no-store")])
    }
    #expect(await sandbox.outcome(request("/")).bytes == Array("page".utf8))
    let client = restarted(sandbox)
    #expect(try await offline(client, request("/")) == "page")
    try await client.forgetCredentials()
    #expect(try await offline(client, request("/")) == other)
  }
}
