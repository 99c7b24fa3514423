package import HTTPSemantics
package import HTTPTransports

/// Finds the credential for a server that asks: one that is kept, or one from the provider.
package struct Authenticator: Sendable {
  /// The limit of credentials that are tried for one request.
  static let maximumTries = 3

  /// The credentials that are kept.
  package let session = CredentialSession()
  private let questions = PendingQuestions()
  private let provider: CredentialProvider?

  /// Creates an authenticator without kept credentials.
  package init(provider: CredentialProvider?) { self.provider = provider }

  /// Sends a request, and repeats it with credentials if the server asks for some.
  ///
  /// A request with an `Authorization` of its own is sent as it is.
  ///
  /// - Parameters:
  ///   - login: The state of the request, which is updated.
  ///   - head: Returns the head of an answer.
  ///   - discard: Discards an answer that is not the last one.
  ///   - send: Sends the request, which may contain the name of a credential, through an
  ///     ``AuthenticatingTransport`` of the same session.
  package func answer<Answer: Sendable, E: Error>(
    _ request: HTTPRequest, _ body: RequestBody?, _ login: inout Login,
    head: (Answer) -> HTTPResponseHead, discard: (Answer) async -> Void,
    send: nonisolated(nonsending) (HTTPRequest, RequestBody?) async throws(E) -> Answer
  ) async throws(E) -> Answer {
    guard !request.fields.contains("Authorization") else { return try await send(request, body) }
    var body = body
    var refused: Credential?
    var failures = 0
    // Once, because other requests may change the scheme back each time.
    var mayAskAnew = true
    while true {
      let credential = login.credential(for: request.url, session)
      let again = body.repeated
      let answer = try await self.send(request, body, with: credential, send)
      guard head(answer).status == 401, login.mayAsk, let again else { return answer }
      var isElsewhere = false
      if let credential {
        // A server that accepts only Basic has not tried a credential that was sent by Digest.
        isElsewhere =
          mayAskAnew && session.isUnseen(credential, by: head(answer), at: request.url)
        if isElsewhere {
          mayAskAnew = false
        } else {
          session.forget(credential, at: request.url)
          refused = credential
          failures += 1
        }
        login.credential = nil
      }
      guard failures < Self.maximumTries,
        let next = await find(
          for: request.url, head(answer), failures, refused, asksAnew: isElsewhere)
      else { return answer }
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
    _ request: HTTPRequest, _ body: RequestBody?, with credential: Credential?,
    _ send: nonisolated(nonsending) (HTTPRequest, RequestBody?) async throws(E) -> Answer
  ) async throws(E) -> Answer {
    guard let credential else { return try await send(request, body) }
    session.retain(credential)
    defer { session.release(credential) }
    return try await send(AuthenticatingTransport.naming(credential, in: request), body)
  }

  /// Returns the credential for a 401: one that is kept for its protection space, or one from the
  /// provider.
  ///
  /// - Parameter asksAnew: Whether kept credentials are ignored, because they would be sent by a weaker
  ///   scheme than before.
  private func find(
    for url: NormalizedURL, _ head: HTTPResponseHead, _ failures: Int, _ refused: Credential?,
    asksAnew: Bool
  ) async -> Credential? {
    let supported = AuthenticationChallenge.supported(in: head)
    guard let first = supported.first else { return nil }
    let space = CredentialSession.Space(
      origin: NormalizedURL.Origin(url), realm: first.challenge.realm)
    if !asksAnew, let kept = session.credential(in: space), kept != refused {
      session.keep(kept, in: space, at: url, everywhere: false)
      return kept
    }
    guard let provider else { return nil }
    return await questions.ask(for: space) { [session] in
      // Another request has got it meanwhile.
      if !asksAnew, let kept = session.credential(in: space), kept != refused { return kept }
      for (scheme, challenge) in supported {
        let question = AuthenticationChallenge(
          scheme, challenge, url: url, failures: failures, refused: refused)
        guard let credential = await provider(question) else { continue }
        if credential.persistence == .session {
          // RFC 7616, section 3.5: without `domain`, it is valid for the whole origin.
          session.keep(credential, in: space, at: url, everywhere: scheme == .digest)
        } else {
          session.noteUnkept()
        }
        return credential
      }
      return nil
    }
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

  /// Returns the credential for a URL, or `nil`.
  package func credential(for url: NormalizedURL, _ session: CredentialSession) -> Credential? {
    if let credential, origin == NormalizedURL.Origin(url) { return credential }
    return session.credential(for: url)
  }
}
