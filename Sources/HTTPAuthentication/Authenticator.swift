import CacheSystem
package import HTTPSemantics
package import HTTPTransports

/// Finds the credential for a server that asks: one that is kept, one from the vault, or one from
/// the provider.
package struct Authenticator: Sendable {
  /// The limit of credentials that are tried for one request.
  static let maximumTries = 3

  /// The credentials that are kept.
  package let session = CredentialSession()
  let questions = PendingQuestions()
  private let provider: CredentialProvider?
  private let vault: (any CredentialVault)?
  private let vaultLimit: Duration

  /// Creates an authenticator without kept credentials.
  ///
  /// - Parameters:
  ///   - provider: Returns the credentials that are in neither place.
  ///   - vault: The credentials that last longer than the program.
  ///   - vaultLimit: The longest wait for the vault without a network.
  package init(
    provider: CredentialProvider?, vault: (any CredentialVault)? = nil,
    vaultLimit: Duration = .seconds(2)
  ) {
    self.provider = provider
    self.vault = vault
    self.vaultLimit = vaultLimit
  }

  /// Forgets all credentials: first those in memory, then those in the vault. What is found meanwhile is
  /// not kept.
  package func forgetCredentials() async throws(CredentialVaultError) {
    session.forgetAll(isEmptying: vault != nil)
    guard let vault else { return }
    defer { session.endEmptying() }
    try await vault.removeAll()
  }

  /// Sends a request, and repeats it with credentials if the server asks for some.
  ///
  /// A request with an `Authorization` of its own is sent as it is.
  ///
  /// - Parameters:
  ///   - login: The state of the request, which is updated.
  ///   - head: Returns the head of an answer.
  ///   - discard: Discards an answer that is not the last one.
  ///   - failure: Returns the error for a log-in that the provider cancelled.
  ///   - send: Sends the request, which may contain the name of a credential, through an
  ///     ``AuthenticatingTransport`` of the same session.
  package func answer<Answer: Sendable, E: Error>(
    _ request: HTTPRequest, _ body: RequestBody?, _ login: inout Login,
    head: (Answer) -> HTTPResponseHead, discard: (Answer) async -> Void,
    failure: (TransportError) -> E,
    send: nonisolated(nonsending) (HTTPRequest, RequestBody?) async throws(E) -> Answer
  ) async throws(E) -> Answer {
    guard !request.fields.contains("Authorization") else { return try await send(request, body) }
    var body = body
    var refused: Credential?
    var failures = 0
    // Once, because other requests may change the scheme back each time.
    var mayAskAnew = true
    // Once, because a refused credential may be there again if it could not be removed.
    var mayAskVault = true
    while true {
      let credential = login.credential(for: request.url, session)
      let again = body.repeated
      let isOwn = login.credential != nil
      let answer = try await self.send(request, body, with: credential, isOwn: isOwn, send)
      if let credential { await saveIfAccepted(credential, at: request.url) }
      guard head(answer).status == 401, login.mayAsk, let again else { return answer }
      var isElsewhere = false
      if let credential {
        if AuthenticatingTransport.isStale(head(answer)) { return answer }
        // A server that accepts only Basic has not tried a credential that was sent by Digest.
        isElsewhere =
          mayAskAnew && session.isUnseen(credential, by: head(answer), at: request.url)
        if isElsewhere {
          mayAskAnew = false
        } else if isOwn
          || !session.isForOtherRealm(credential, than: head(answer), at: request.url)
        {
          if session.refuse(credential, at: request.url) {
            await removeFromVault(credential, head(answer), at: request.url)
          }
          refused = credential
          failures += 1
        }
        login.credential = nil
      }
      guard failures < Self.maximumTries else { return answer }
      let found = await find(
        for: request.url, head(answer), failures, refused, asksAnew: isElsewhere,
        asksVault: mayAskVault)
      mayAskVault = false
      if Task.isCancelled {
        await discard(answer)
        throw failure(TransportError(.cancelled, url: request.url.string))
      }
      if case .cancel = found {
        await discard(answer)
        throw failure(TransportError(.loginCancelled, url: request.url.string))
      }
      guard case .use(let next) = found else { return answer }
      login.take(next, for: request.url)
      if isElsewhere {
        // The provider has given it for Basic.
        session.setWay(.basic, for: next, to: request.url)
      } else {
        session.learn(head(answer), for: next, to: request.url)
      }
      await discard(answer)
      body = again.body
    }
  }

  private func send<Answer: Sendable, E: Error>(
    _ request: HTTPRequest, _ body: RequestBody?, with credential: Credential?, isOwn: Bool,
    _ send: nonisolated(nonsending) (HTTPRequest, RequestBody?) async throws(E) -> Answer
  ) async throws(E) -> Answer {
    guard let credential else { return try await send(request, body) }
    session.retain(credential, isOwn: isOwn)
    defer { session.release(credential, isOwn: isOwn) }
    return try await send(AuthenticatingTransport.naming(credential, in: request), body)
  }

  /// Returns the answer to a 401: the credential that is kept for its protection space, or that of
  /// the vault, or what the provider answers.
  ///
  /// - Parameters:
  ///   - asksAnew: Whether kept credentials are ignored, because they would be sent by a weaker
  ///     scheme than before.
  ///   - asksVault: Whether the vault is asked.
  private func find(
    for url: NormalizedURL, _ head: HTTPResponseHead, _ failures: Int, _ refused: Credential?,
    asksAnew: Bool, asksVault: Bool
  ) async -> CredentialAnswer {
    let challenges = AuthenticationChallenge.supported(in: head).map {
      AuthenticationChallenge(
        $0.scheme, $0.challenge, url: url, failures: failures, refused: refused)
    }
    guard let first = challenges.first else { return .goOnWithout }
    let space = CredentialSession.Space(origin: NormalizedURL.Origin(url), realm: first.realm)
    // After a log-out, what was found before it must not be used.
    let logOuts = session.logOuts
    if !asksAnew, let kept = session.credential(in: space), kept != refused {
      let isKept = session.keep(kept, in: space, at: url, ifStill: logOuts)
      return isKept ? .use(kept) : .goOnWithout
    }
    guard provider != nil || vault != nil else { return .goOnWithout }
    return await questions.ask(PendingQuestions.Subject(space: space, logOuts: logOuts)) {
      // Another request has got it meanwhile.
      if !asksAnew, let kept = session.credential(in: space), kept != refused { return .use(kept) }
      if asksVault, let remembered = await remembered(for: challenges, in: space, head, logOuts) {
        return .use(remembered)
      }
      return await provided(for: challenges, in: space, head, logOuts)
    }
  }

  private func provided(
    for challenges: [AuthenticationChallenge], in space: CredentialSession.Space,
    _ head: HTTPResponseHead, _ logOuts: UInt64
  ) async -> CredentialAnswer {
    guard let provider else { return .goOnWithout }
    for challenge in challenges {
      let answer = await provider(challenge)
      if case .tryNextScheme = answer { continue }
      guard case .use(let credential) = answer else { return answer }
      if credential.persistence == .request {
        guard session.noteUnkept(ifStill: logOuts) else { return .goOnWithout }
      } else {
        // Before others find it: they must not send by Basic what the server wants by Digest.
        session.learn(head, for: credential, to: challenge.url)
        let isKept = session.keep(
          credential, in: space, at: challenge.url, below: challenge.directories,
          saving: vault != nil && credential.persistence == .permanent ? challenge.space : nil,
          ifStill: logOuts)
        guard isKept else { return .goOnWithout }
      }
      return answer
    }
    return .goOnWithout
  }
}

// The vault. If it fails, that is reported, and the request goes on.
extension Authenticator {
  /// Returns the credential of the vault for the first scheme that it has one for.
  private func remembered(
    for challenges: [AuthenticationChallenge], in space: CredentialSession.Space,
    _ head: HTTPResponseHead, _ logOuts: UInt64
  ) async -> Credential? {
    guard let vault else { return nil }
    do throws(CredentialVaultError) {
      for challenge in challenges {
        guard var found = try await vault.credential(for: challenge.space),
          found != challenge.refused, found.fits(challenge.scheme)
        else { continue }
        found.persistence = .permanent
        session.learn(head, for: found, to: challenge.url)
        let isKept = session.keep(
          found, in: space, at: challenge.url, below: challenge.directories,
          ifStill: logOuts)
        return isKept ? found : nil
      }
    } catch {
      vault.report(error)
    }
    return nil
  }

  /// Returns the credential of the vault with which stored responses may be looked up, because no
  /// server can ask for it now. It must not be sent: only the server knows the realm and the scheme.
  ///
  /// `nil` unless the origin has exactly one, in the vault and in memory. With several, nobody knows
  /// which user is asking. Also `nil` if the vault does not answer in time, or the task is cancelled.
  package func remembered(at url: NormalizedURL) async -> Credential? {
    guard let vault else { return nil }
    let logOuts = session.logOuts
    // A task of its own: another process may hold the lock of the vault for long, and the wait for a
    // lock cannot be cancelled.
    let answer = Promise<[Credential]>()
    Task {
      do throws(CredentialVaultError) {
        answer.settle(try await vault.credentials(at: url))
      } catch {
        vault.report(error)
        answer.settle([])
      }
    }
    let limit = Task { [vaultLimit] in
      try? await Task.sleep(for: vaultLimit)
      answer.settle([])
    }
    defer { limit.cancel() }
    let all = Set(await answer.value() ?? [])
    guard all.count == 1, let only = all.first, session.isOnly(only, at: url, ifStill: logOuts)
    else { return nil }
    return only
  }

  /// Saves a credential that the provider wants to be remembered, after a server has accepted it.
  private func saveIfAccepted(_ credential: Credential, at url: NormalizedURL) async {
    guard let vault, let (space, logOuts) = session.takeAccepted(credential, at: url)
    else { return }
    do throws(CredentialVaultError) {
      try await vault.save(credential, for: space)
      // The user may have logged out, and the vault may have been emptied, before it was saved.
      if session.logOuts != logOuts { try await vault.remove(credential, for: space) }
    } catch {
      vault.report(error)
    }
  }

  private func removeFromVault(
    _ credential: Credential, _ head: HTTPResponseHead, at url: NormalizedURL
  ) async {
    guard let vault, credential.persistence == .permanent else { return }
    do throws(CredentialVaultError) {
      for (scheme, challenge) in AuthenticationChallenge.supported(in: head)
      where credential.fits(scheme) {
        try await vault.remove(
          credential, for: ProtectionSpace(url: url, realm: challenge.realm, scheme: scheme))
      }
    } catch {
      vault.report(error)
    }
  }
}

extension AuthenticationChallenge {
  /// The beginnings of the paths to which a credential for Digest may be sent: the whole origin, or the
  /// URIs of `domain` there (RFC 7616, section 3.3). `nil` if the request belongs to none of them.
  fileprivate var directories: [String]? {
    guard scheme == .digest else { return nil }
    let domain = (challenge["domain"] ?? "").split { $0 == " " || $0 == "\t" }
    if domain.isEmpty { return ["/"] }
    let targets = domain.compactMap { try? url.resolving(String($0)) }
      .filter { $0.isSameOrigin(as: url) }.map(\.target)
    return targets.contains { url.target.hasPrefix($0) } ? targets : nil
  }
}

/// The credentials of one request, on its way through redirects.
package struct Login {
  /// The credential for this request alone.
  fileprivate var credential: Credential?
  /// Whether the request may be repeated over the network.
  fileprivate let mayAsk: Bool
  private var origin: NormalizedURL.Origin?

  /// Creates a login with the caller's credential, which is only sent to the origin of the request.
  package init(_ credential: Credential?, for url: NormalizedURL, mayAsk: Bool = true) {
    self.credential = credential
    self.mayAsk = mayAsk
    origin = credential.map { _ in NormalizedURL.Origin(url) }
  }

  fileprivate mutating func take(_ credential: Credential, for url: NormalizedURL) {
    self.credential = credential
    origin = NormalizedURL.Origin(url)
  }

  package func credential(for url: NormalizedURL, _ session: CredentialSession) -> Credential? {
    if let credential, origin == NormalizedURL.Origin(url) { return credential }
    return session.credential(for: url)
  }
}
