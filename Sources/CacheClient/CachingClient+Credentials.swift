import Synchronization

/// The number of calls of ``CachingClient/forgetUser()``.
final class LogOuts: Sendable {
  private let number = Atomic(0)

  var count: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
}

// Credentials.
extension CachingClient {
  /// The transport of the client for requests that bypass the store, such as those of a
  /// `Downloader`: with the credentials of the client, or those that its provider returns.
  public var transport: any HTTPTransport {
    LoginTransport(transport: originFetcher.transport, authenticator: authenticator)
  }

  /// Sends a credential to the directory of a URL, and below it, without waiting for a challenge.
  ///
  /// So a program that knows its user finds the responses stored for that user while there is no
  /// network. The credential is kept in memory until ``forgetCredentials()``, or until a server
  /// refuses it: once, or eight times in a row if it has been accepted.
  public func use(_ credential: Credential, for url: NormalizedURL) {
    let space = CredentialSession.Space(origin: NormalizedURL.Origin(url), realm: "")
    authenticator.session.keep(credential, in: space, at: url)
  }

  /// Forgets all credentials, as for a log-out: those in memory at once, before the call suspends,
  /// then all that the vault contains (``ClientOptions/credentialVault``), also those of other
  /// clients with the same vault. Stored responses stay, but are not returned without their
  /// credentials.
  ///
  /// - Throws: `CredentialVaultError` if the vault cannot be emptied. Its credentials would be used
  ///   again; those in memory are forgotten all the same.
  public func forgetCredentials() async throws(CredentialVaultError) {
    try await authenticator.forgetCredentials()
  }

  /// Forgets the user, who logs out: all credentials, as ``forgetCredentials()`` does, and the cookies
  /// of the transport. Running requests end with `cancelled`, also those of others that use the
  /// transport. Stored responses stay; see ``removeAll()``.
  ///
  /// - Throws: As ``forgetCredentials()``, once all the rest is done.
  public func forgetUser() async throws(CredentialVaultError) {
    logOuts.add()
    let forgotten: Result<Void, CredentialVaultError>
    do throws(CredentialVaultError) {
      forgotten = .success(try await forgetCredentials())
    } catch {
      forgotten = .failure(error)
    }
    await originFetcher.transport.reset()
    try forgotten.get()
  }

  /// The number of calls of ``forgetUser()``.
  package var logOutCount: Int { logOuts.count }

  /// Changes with each log-in and log-out. Between two equal values, the credential in memory did
  /// not change.
  package var loginState: UInt64 { authenticator.session.changes }

  /// Returns a request with the name of the credential that would be sent, as the store needs it.
  func named(_ request: HTTPRequest, _ credential: Credential?) -> HTTPRequest {
    guard !request.fields.contains("Authorization"),
      let credential = Login(credential, for: request.url)
        .credential(for: request.url, authenticator.session)
    else { return request }
    return AuthenticatingTransport.naming(credential, in: request)
  }

  /// Returns the value of `Authorization` of a request with a credential, with the name of the one that
  /// would be sent now in its place; `nil` if there is none.
  package func user(of request: HTTPRequest, _ credential: Credential?) -> String? {
    named(request, credential).fields.first(named: "Authorization")?.text
  }

  /// Returns whether a field of a request has the name of a credential, for `mayReturnStored`.
  package static func isPlaceholder(_ field: HTTPField) -> Bool {
    AuthenticatingTransport.name(in: field) != nil
  }

  /// Returns whether the decision may be another one for the user of the vault: if something is stored for
  /// another login, or an answer to nobody hides that.
  func mayUseVault(_ decision: Decision, _ policy: CachePolicy) -> Bool {
    switch decision {
    case .refuse(.otherVariant): true
    case .refuse(.mustValidate): !policy.allowsNetwork
    case .serve(let serving): !policy.allowsNetwork && serving.head.status == 401
    case .refuse, .forward: false
    }
  }

  /// Decides again, with the credential of the vault, about a request without one whose stored
  /// responses may be for that. The request is not sent.
  ///
  /// - Throws: `cancelled` if the task was cancelled while it waited for the vault.
  func useVault(
    _ maker: inout DecisionMaker, _ decision: inout Decision
  ) async throws(ClientError) {
    let url = maker.request.url
    guard !maker.request.fields.contains("Authorization") else { return }
    let logOuts = authenticator.session.logOuts
    let found = await authenticator.remembered(at: url)
    if Task.isCancelled { throw ClientError(.cancelled, url: url.string) }
    guard let credential = found else { return }
    var named = maker
    named.request = AuthenticatingTransport.naming(credential, in: maker.request)
    let again = await named.decision()
    switch (decision, again) {
    case (_, .refuse(.otherVariant)), (.serve, .refuse), (.refuse(.mustValidate), .refuse): return
    case (_, .serve(let serving)) where serving.head.status == 401: return
    default: break
    }
    // A file that is written meanwhile is for no user for certain.
    guard authenticator.session.noteUnkept(ifStill: logOuts) else { return }
    (maker, decision) = (named, again)
  }

  /// Answers a request. If a server sends a challenge, gets a credential.
  func authenticated(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions, login: inout Login
  ) async throws(ClientError) -> ClientResponse {
    // A function, because for a closure a caller on an actor would change threads, there and back.
    func send(
      _ request: HTTPRequest, _ body: RequestBody?
    ) async throws(ClientError) -> ClientResponse {
      try await answer(request, body, options)
    }
    return try await authenticator.answer(
      request, body, &login, head: { $0.head },
      discard: { await $0.body.drain(upTo: ResponseCache.smallBody) },
      failure: { ClientError(.transport($0), url: $0.url) }, send: send)
  }
}
