import ClientTesting
import Synchronization
import Testing

@testable import HTTPAuthentication

/// A transport that logs in at a server which accepts one password or token.
private final class Server: Sendable {
  static let right = Credential.password(user: "alice", password: "right", persistence: .permanent)
  static let wrong = Credential.password(user: "alice", password: "wrong", persistence: .permanent)

  let scripted: ScriptedTransport
  let transport: any HTTPTransport
  let authenticator: Authenticator
  /// The status for a request with the right credential.
  let status = Mutex(200)
  /// The paths that are closed also to the right credential.
  let closed = Mutex<Set<String>>([])
  let vault: MemoryVault?

  init(_ provider: ScriptedProvider?, _ vault: MemoryVault?, demand: String...) throws {
    self.vault = vault
    let demands = demand.isEmpty ? ["Basic realm=\"r\""] : demand
    scripted = ScriptedTransport(ScriptedTransport.Answer())
    let authenticator = Authenticator(provider: provider?.provider, vault: vault)
    self.authenticator = authenticator
    transport = LoginTransport(
      transport: AuthenticatingTransport(transport: scripted, session: authenticator.session),
      authenticator: authenticator)
    scripted.set { [unowned self] request in
      let sent = request.fields.first(named: "Authorization")?.text
      if sent == Self.right.basic, !closed.withLock({ $0.contains(request.url.target) }) {
        return .success(ScriptedTransport.Answer("secret", status: status.withLock { $0 }))
      }
      return .success(
        ScriptedTransport.Answer(
          "who are you", status: 401,
          fields: HTTPFields(demands.map { HTTPField("WWW-Authenticate", $0) })))
    }
  }

  func get(_ path: String = "/a") async throws -> Int {
    let url = try NormalizedURL("http://a.example\(path)")
    return try await transport.send(HTTPRequest(url: url)).head.status
  }

  static func space(
    _ scheme: AuthenticationChallenge.Scheme = .basic, realm: String = "r"
  ) throws -> ProtectionSpace {
    ProtectionSpace(url: try NormalizedURL("http://a.example/"), realm: realm, scheme: scheme)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct AuthenticatorTests {
  private let right = Server.right
  private let wrong = Server.wrong

  @Test func `the vault is asked before the provider, and once`() async throws {
    let provider = ScriptedProvider(.use(wrong))
    let vault = MemoryVault([try Server.space(): right])
    let server = try Server(provider, vault)
    #expect(try await server.get("/x/a") == 200)
    #expect(try await server.get("/x/b") == 200)
    #expect(provider.challenges.isEmpty)
    #expect(vault.calls == [.find(try Server.space())])
    #expect(server.scripted.requests.count == 3)
  }

  @Test func `a vault is enough, and without anything there the 401 is the answer`() async throws {
    let full = try Server(nil, MemoryVault([try Server.space(): right]))
    #expect(try await full.get() == 200)
    let empty = try Server(nil, MemoryVault())
    #expect(try await empty.get() == 401)
    #expect(empty.vault?.calls == [.find(try Server.space())])
  }

  @Test func `what a server has accepted is saved, and what it has refused is not`() async throws {
    let provider = ScriptedProvider(.use(wrong), .use(right))
    let vault = MemoryVault()
    let server = try Server(provider, vault)
    #expect(try await server.get() == 200)
    let space = try Server.space()
    #expect(
      vault.calls == [.find(space), .remove(wrong, space), .save(right, space)])
    #expect(try await server.get() == 200)
    #expect(vault.calls.count == 3)
    #expect(provider.challenges.map(\.failures) == [0, 1])
  }

  @Test(arguments: [Credential.Persistence.request, .session])
  func `a credential that is not permanent is not saved`(
    persistence: Credential.Persistence
  ) async throws {
    let credential = Credential.password(
      user: "alice", password: "right", persistence: persistence)
    let vault = MemoryVault()
    let server = try Server(ScriptedProvider(.use(credential)), vault)
    #expect(try await server.get() == 200)
    #expect(vault.calls == [.find(try Server.space())])
  }

  @Test func `an error of the server is no acceptance, the next success is`() async throws {
    let vault = MemoryVault()
    let server = try Server(ScriptedProvider(.use(right)), vault)
    server.status.withLock { $0 = 503 }
    #expect(try await server.get() == 503)
    #expect(vault.content.isEmpty)
    server.status.withLock { $0 = 204 }
    #expect(try await server.get() == 204)
    #expect(vault.content == [try Server.space(): right])
  }

  @Test func `a refused credential leaves the vault, and the provider is told of it`() async throws
  {
    let provider = ScriptedProvider(.use(right))
    let vault = MemoryVault([try Server.space(): wrong])
    let server = try Server(provider, vault)
    #expect(try await server.get() == 200)
    #expect(provider.challenges.map(\.refused) == [wrong])
    #expect(provider.challenges.map(\.failures) == [1])
    #expect(vault.content == [try Server.space(): right])
  }

  @Test func `a credential that cannot be removed is tried once for a request`() async throws {
    let provider = ScriptedProvider(.use(wrong), .goOnWithout)
    let vault = MemoryVault([try Server.space(): right])
    let other = Credential.password(user: "bob", password: "x", persistence: .permanent)
    try await vault.save(other, for: try Server.space())
    vault.fail { if case .remove = $0 { MemoryVault.locked } else { nil } }
    let server = try Server(provider, vault)
    #expect(try await server.get() == 401)
    let sent = server.scripted.requests.compactMap {
      $0.fields.first(named: "Authorization")?.text
    }
    #expect(sent == [other.basic, wrong.basic])
    #expect(vault.reported == [MemoryVault.locked, MemoryVault.locked])
  }

  @Test func `a vault that fails is reported, and the provider is asked`() async throws {
    let provider = ScriptedProvider(.use(right))
    let vault = MemoryVault([try Server.space(): wrong])
    vault.fail { _ in MemoryVault.locked }
    let server = try Server(provider, vault, demand: "Basic realm=r", "Bearer realm=r")
    #expect(try await server.get() == 200)
    // One for reading, which is not tried for the other scheme, and one for saving.
    #expect(vault.reported == [MemoryVault.locked, MemoryVault.locked])
    #expect(provider.challenges.map(\.refused) == [nil])
    #expect(try await server.get() == 200)
    #expect(vault.reported.count == 2)
  }

  @Test func `a password saved for Digest is not sent with Basic`() async throws {
    let provider = ScriptedProvider(.goOnWithout)
    let vault = MemoryVault([try Server.space(.digest): right])
    let server = try Server(provider, vault)
    #expect(try await server.get() == 401)
    #expect(!server.scripted.requests.contains { $0.fields.contains("Authorization") })
    #expect(provider.challenges.map(\.scheme) == [.basic])
  }

  @Test func `a credential of the wrong kind is not used`() async throws {
    let vault = MemoryVault([try Server.space(): .token("abc"), try Server.space(.bearer): right])
    let server = try Server(nil, vault, demand: "Basic realm=r", "Bearer realm=r")
    #expect(try await server.get() == 401)
    #expect(server.scripted.requests.count == 1)
  }

  @Test func `another origin, port, scheme or realm has other credentials`() async throws {
    let vault = MemoryVault()
    for url in ["https://a.example/", "http://a.example:81/", "http://b.example/"] {
      let space = ProtectionSpace(url: try NormalizedURL(url), realm: "r", scheme: .basic)
      try await vault.save(right, for: space)
    }
    try await vault.save(right, for: try Server.space(realm: "R"))
    let server = try Server(nil, vault)
    #expect(try await server.get() == 401)
  }
}

// What the provider may answer.
extension AuthenticatorTests {
  @Test func `going on without a credential ends the questions`() async throws {
    let provider = ScriptedProvider(.goOnWithout)
    let server = try Server(provider, nil, demand: "Basic realm=r", "Bearer realm=r")
    #expect(try await server.get() == 401)
    #expect(provider.challenges.map(\.scheme) == [.bearer])
  }

  @Test func `the next scheme is asked for until there is none`() async throws {
    let provider = ScriptedProvider(.tryNextScheme)
    let server = try Server(provider, nil, demand: "Basic realm=r", "Bearer realm=r")
    #expect(try await server.get() == 401)
    #expect(provider.challenges.map(\.scheme) == [.bearer, .basic])
    let second = ScriptedProvider(.tryNextScheme, .use(right))
    #expect(try await Server(second, nil, demand: "Basic realm=r", "Bearer realm=r").get() == 200)
  }

  @Test func `cancelling ends the request with an error, and its answer`() async throws {
    let provider = ScriptedProvider(.cancel)
    let server = try Server(provider, nil, demand: "Basic realm=r", "Bearer realm=r")
    let error = await #expect(throws: TransportError.self) { try await server.get() }
    #expect(error == TransportError(.loginCancelled, url: "http://a.example/a"))
    #expect(error?.description.contains("log-in was cancelled") == true)
    #expect(server.scripted.requests.count == 1)
    // The body was read, so that the connection can be used again.
    #expect(server.scripted.bodies.map(\.taken) == [1])
  }

  @Test func `cancelling after a refusal ends the request, too`() async throws {
    let vault = MemoryVault([try Server.space(): wrong])
    let server = try Server(ScriptedProvider(.cancel), vault)
    let error = await #expect(throws: TransportError.self) { try await server.get() }
    #expect(error?.code == .loginCancelled)
    #expect(vault.content.isEmpty)
  }
}

// Several requests, and the log-out.
extension AuthenticatorTests {
  @Test(arguments: [true, false])
  func `requests that wait share the answer`(cancels: Bool) async throws {
    let gate = Gate()
    let questions = Mutex(0)
    let authenticator = Authenticator(
      provider: { _ in
        questions.withLock { $0 += 1 }
        _ = await gate.pass()
        return cancels ? .cancel : .goOnWithout
      })
    let scripted = ScriptedTransport(
      ScriptedTransport.Answer(
        status: 401, fields: [HTTPField("WWW-Authenticate", "Basic realm=r")]))
    let transport = LoginTransport(
      transport: AuthenticatingTransport(transport: scripted, session: authenticator.session),
      authenticator: authenticator)
    let request = HTTPRequest(url: try NormalizedURL("http://a.example/"))
    let all = (0..<8).map { _ in
      Task {
        do {
          return try await transport.send(request).head.status
        } catch {
          return (error as? TransportError)?.code == .loginCancelled ? -1 : -2
        }
      }
    }
    await eventually { authenticator.questions.waiterCount == 7 }
    gate.open()
    for task in all { #expect(await task.value == (cancels ? -1 : 401)) }
    #expect(questions.withLock { $0 } == 1)
  }

  @Test func `forgetting empties memory and vault`() async throws {
    let provider = ScriptedProvider(.use(right), .goOnWithout, .use(right))
    let vault = MemoryVault()
    let server = try Server(provider, vault)
    #expect(try await server.get() == 200)
    try await server.authenticator.forgetCredentials()
    #expect(vault.content.isEmpty)
    for status in [401, 200] { #expect(try await server.get() == status) }
  }

  @Test func `memory is forgotten even if the vault cannot be emptied`() async throws {
    let vault = MemoryVault()
    let server = try Server(ScriptedProvider(.use(right), .goOnWithout), vault)
    #expect(try await server.get() == 200)
    vault.fail { _ in MemoryVault.locked }
    await #expect(throws: MemoryVault.locked) {
      try await server.authenticator.forgetCredentials()
    }
    #expect(try await server.get() == 401)
  }

  enum Moment: CaseIterable { case vaultIsAsked, providerIsAsked, vaultIsEmptied }

  @Test(arguments: Moment.allCases)
  func `what is found while the user logs out is not used`(_ moment: Moment) async throws {
    let isInVault = moment == .vaultIsAsked
    let provider = ScriptedProvider(isInVault ? .goOnWithout : .use(right), .goOnWithout)
    let vault = MemoryVault(isInVault ? [try Server.space(): right] : [:])
    let server = try Server(provider, vault)
    let logOut = { @Sendable in _ = try? await server.authenticator.forgetCredentials() }
    vault.wait { call in
      if isInVault, case .find = call { await logOut() }
      if moment == .vaultIsEmptied, call == .removeAll { _ = try? await server.get() }
    }
    provider.wait { if moment == .providerIsAsked { await logOut() } }
    if moment == .vaultIsEmptied { await logOut() }
    for _ in 0..<2 { #expect(try await server.get() == 401) }
    let sent = server.scripted.requests.map { $0.fields.first(named: "Authorization") }
    #expect(sent.allSatisfy { $0 == nil } && vault.content.isEmpty)
  }

  @Test func `after a log-out a question from before it is not waited for`() async throws {
    let provider = ScriptedProvider(.use(right))
    let server = try Server(provider, nil)
    let gate = Gate()
    provider.wait { if provider.challenges.count == 1 { _ = await gate.pass() } }
    let early = Task { try await server.get() }
    await eventually { provider.challenges.count == 1 }
    try await server.authenticator.forgetCredentials()
    #expect(try await server.get() == 200)
    gate.open()
    #expect(try await early.value == 401)
  }

  @Test func `what is saved while the user logs out is removed again`() async throws {
    let vault = MemoryVault()
    let server = try Server(ScriptedProvider(.use(right)), vault)
    let space = try Server.space()
    vault.fail { [session = server.authenticator.session] call in
      if case .save = call { session.forgetAll() }
      return nil
    }
    #expect(try await server.get() == 200)
    #expect(vault.calls.suffix(2) == [.save(right, space), .remove(right, space)])
    #expect(vault.content.isEmpty)
  }

  @Test func `a page that is closed to a user does not log the user out`() async throws {
    let provider = ScriptedProvider(.use(right), .goOnWithout)
    let vault = MemoryVault()
    let server = try Server(provider, vault)
    server.closed.withLock { $0 = ["/secret"] }
    #expect(try await server.get() == 200)
    #expect(try await server.get("/secret") == 401)
    #expect(vault.content == [try Server.space(): right])
    #expect(try await server.get("/b") == 200)
    #expect(provider.challenges.map(\.failures) == [0, 1])
  }

  /// Gets pages one after the other, by one log-in.
  private func expectPages(
    _ paths: [String], of scripted: ScriptedTransport, asking provider: @escaping CredentialProvider
  ) async throws {
    let authenticator = Authenticator(provider: provider)
    let transport = LoginTransport(
      transport: AuthenticatingTransport(transport: scripted, session: authenticator.session),
      authenticator: authenticator)
    for path in paths {
      let url = try NormalizedURL("http://a.example\(path)")
      #expect(try await transport.send(HTTPRequest(url: url)).head.status == 200, "\(path)")
    }
  }

  @Test func `a credential that a request is given is sent to another realm, too`() async throws {
    let once = Credential.password(user: "alice", password: "right", persistence: .request)
    let provider: CredentialProvider = { challenge in
      guard challenge.failures == 0 else { return .goOnWithout }
      return .use(challenge.realm == "a" ? Server.right : once)
    }
    let scripted = ScriptedTransport(ScriptedTransport.Answer())
    scripted.set { request in
      let realm = request.url.target.hasPrefix("/a") ? "a" : "b"
      let sent = request.fields.first(named: "Authorization")?.text ?? ""
      if sent.contains("realm=\"\(realm)\"") { return .success(ScriptedTransport.Answer("page")) }
      let challenge = "Digest realm=\"\(realm)\", nonce=\"n\", qop=\"auth\""
      return .success(
        ScriptedTransport.Answer(
          "who", status: 401, fields: [HTTPField("WWW-Authenticate", challenge)]))
    }
    try await expectPages(["/a1", "/b1", "/a2", "/b2"], of: scripted, asking: provider)
  }

  @Test(arguments: ["Basic", "Digest"])
  func `two realms of an origin have a credential each`(scheme: String) async throws {
    let other = Credential.password(user: "bob", password: "other")
    let asked = Mutex<[String]>([])
    let provider: CredentialProvider = { challenge in
      // As a program is told to: a password is given once.
      guard challenge.failures == 0 else { return .goOnWithout }
      asked.withLock { $0.append(challenge.realm) }
      return .use(challenge.realm == "a" ? Server.right : other)
    }
    let scripted = ScriptedTransport(ScriptedTransport.Answer())
    scripted.set { request in
      let realm = request.url.target.hasPrefix("/a") ? "a" : "b"
      let credential = realm == "a" ? Server.right : other
      let user = realm == "a" ? "alice" : "bob"
      let sent = request.fields.first(named: "Authorization")?.text ?? ""
      if sent == credential.basic
        || sent.contains("username=\"\(user)\"") && sent.contains("realm=\"\(realm)\"")
      {
        return .success(ScriptedTransport.Answer("page"))
      }
      let challenge = "\(scheme) realm=\"\(realm)\", nonce=\"n\", qop=\"auth\""
      return .success(
        ScriptedTransport.Answer(
          "who", status: 401, fields: [HTTPField("WWW-Authenticate", challenge)]))
    }
    try await expectPages(
      ["/a1", "/b1", "/a2", "/b2", "/a3", "/b3"], of: scripted, asking: provider)
    #expect(asked.withLock { $0 } == ["a", "b"])
    #expect(
      !scripted.requests.contains { request in
        let sent = request.fields.first(named: "Authorization")?.text ?? ""
        return sent.contains("alice") && sent.contains("realm=\"b\"")
      })
  }
}
