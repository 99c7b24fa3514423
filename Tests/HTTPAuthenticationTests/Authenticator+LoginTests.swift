import ClientTesting
import Synchronization
import Testing

@testable import HTTPAuthentication

/// The log-in of one request.
@Suite(.timeLimit(.minutes(5)))
struct AuthenticatorLoginTests {
  private let wrong = Credential.password(user: "u", password: "no")
  private let right = Credential.password(user: "u", password: "yes")

  private static func refusal(_ challenge: String) -> ScriptedTransport.Answer {
    ScriptedTransport.Answer(
      "", status: 401, fields: [HTTPField("WWW-Authenticate", challenge)])
  }

  /// Sends a request by a script, and returns the status.
  private func send(
    by authenticator: Authenticator, _ login: inout Login,
    _ script: @escaping ScriptedTransport.Script
  ) async throws -> Int {
    let transport = AuthenticatingTransport(
      transport: ScriptedTransport(script), session: authenticator.session)
    let response = try await authenticator.answer(
      request(), nil, &login, head: \.head, discard: { await $0.body.end() }, failure: { $0 }
    ) { request, body throws(TransportError) in
      try await transport.send(
        request, body: body, options: TransportOptions(), onInterim: { _ in })
    }
    return response.head.status
  }

  @Test func `a request that may not ask gets the 401`() async throws {
    let provider = ScriptedProvider(.use(right))
    let authenticator = Authenticator(provider: provider.provider)
    var login = Login(nil, for: request().url, mayAsk: false)
    let status = try await send(by: authenticator, &login) { _ in
      .success(Self.refusal("Basic realm=r"))
    }
    #expect(status == 401 && provider.challenges.isEmpty)
  }

  @Test func `a credential of a request that is refused is not sent once more`() async throws {
    let provider = ScriptedProvider(.goOnWithout)
    let authenticator = Authenticator(provider: provider.provider)
    // It is kept for another realm.
    let url = request().url
    authenticator.session.keep(
      wrong, in: CredentialSession.Space(origin: .init(url), realm: "s"), at: url)
    var login = Login(wrong, for: url)
    let status = try await send(by: authenticator, &login) { _ in
      .success(Self.refusal("Basic realm=r"))
    }
    #expect(status == 401 && provider.challenges.map(\.refused) == [wrong])
    authenticator.session.forgetAll()
    #expect(login.credential(for: url, authenticator.session) == nil)
  }

  @Test func `a user is asked for Basic in place of Digest once, whatever others do`() async throws
  {
    let provider = ScriptedProvider(.use(right))
    let authenticator = Authenticator(provider: provider.provider)
    let (session, right) = (authenticator.session, right)
    let challenge = Challenge(
      scheme: "Digest", parameters: [.init("realm", "r"), .init("nonce", "n")])
    let terms = try #require(DigestTerms(challenge))
    var login = Login(right, for: request().url)
    let sent = Mutex(0)
    let status = try await send(by: authenticator, &login) { request in
      let count = sent.withLock { sent in
        sent += 1
        return sent
      }
      if count > 20 { return .success(.init("")) }
      session.setWay(.digest(terms, count: 0), for: right, to: request.url)
      return .success(Self.refusal("Basic realm=r"))
    }
    #expect(status == 401)
  }

  @Test func `a credential for one request counts as a log-in`() async throws {
    let credential = Credential.password(user: "u", password: "yes", persistence: .request)
    let authenticator = Authenticator(provider: { _ in .use(credential) })
    var login = Login(nil, for: request().url)
    let before = authenticator.session.changes
    let status = try await send(by: authenticator, &login) { request in
      let isAsked = !request.fields.contains("Authorization")
      return .success(isAsked ? Self.refusal("Basic realm=r") : .init(""))
    }
    #expect(status == 200 && authenticator.session.changes > before)
  }

  @Test func `the name of a credential is in Authorization only`() {
    let named = AuthenticatingTransport.naming(right, in: request())
    let value = named.fields.first(named: "Authorization")?.text ?? ""
    #expect(AuthenticatingTransport.name(in: named) == right.name)
    #expect(AuthenticatingTransport.name(in: HTTPField("Authorization", value)) == right.name)
    #expect(AuthenticatingTransport.name(in: HTTPField("X", value)) == nil)
  }

  @Test func `only a permanent credential that is refused leaves the vault, for its scheme`()
    async throws
  {
    let space = ProtectionSpace(url: request().url, realm: "r", scheme: .basic)
    for content in [[:], [space: wrong]] {
      let vault = MemoryVault(content)
      let provider = ScriptedProvider(content.isEmpty ? .use(wrong) : .goOnWithout, .goOnWithout)
      let authenticator = Authenticator(provider: provider.provider, vault: vault)
      var login = Login(nil, for: request().url)
      let status = try await send(by: authenticator, &login) { _ in
        var answer = Self.refusal("Basic realm=r")
        answer.fields.append(HTTPField("WWW-Authenticate", "Bearer realm=r"))
        return .success(answer)
      }
      #expect(status == 401 && vault.content.isEmpty)
      let removals = vault.calls.filter { if case .find = $0 { false } else { true } }
      // One that is in the vault is permanent, whatever the vault says.
      #expect(removals == (content.isEmpty ? [] : [.remove(wrong, space)]))
    }
  }
}
