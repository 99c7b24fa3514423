import HTTPSemantics
import HTTPTransport

/// Finds credentials for servers that ask: what is kept, else what the provider gives.
struct Authenticator: Sendable {
  /// The most credentials that are tried for one request.
  static let maximumTries = 3

  let session = CredentialSession()
  private let questions = PendingQuestions()
  private let provider: CredentialProvider?

  init(provider: CredentialProvider?) { self.provider = provider }

  /// Sends a request, and again with credentials while a server asks for some.
  ///
  /// A request that comes with its own `Authorization` is the caller's affair.
  ///
  /// - Parameters:
  ///   - login: What is known so far, and after that.
  ///   - head: Gives the head of an answer.
  ///   - discard: Lets go of an answer that is not the last.
  ///   - send: Sends the request, in which a name may stand for a credential, through an
  ///     ``AuthenticatingTransport`` of the same session.
  func answer<Answer: Sendable, E: Error>(
    _ request: HTTPRequest, _ body: RequestBody?, _ login: inout Login,
    head: (Answer) -> HTTPResponseHead, discard: (Answer) async -> Void,
    send: nonisolated(nonsending) (HTTPRequest, RequestBody?) async throws(E) -> Answer
  ) async throws(E) -> Answer {
    guard !request.fields.contains("Authorization") else { return try await send(request, body) }
    var body = body
    var refused: Credential?
    var failures = 0
    // Once: others may have the way changed back meanwhile, again and again.
    var mayAskAnew = true
    while true {
      let credential = login.credential(for: request.url, session)
      let again = body.repeated
      let answer = try await self.send(request, body, with: credential, send)
      guard head(answer).status == 401, login.mayAsk, let again else { return answer }
      var isElsewhere = false
      if let credential {
        // What was sent by Digest, and is wanted by Basic here, has not been looked at.
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
        // Whoever was asked wants it so.
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

  /// Returns the credential for a 401: one that is kept for its protection space, else what the
  /// provider gives.
  ///
  /// - Parameter asksAnew: whatever is kept, for it would go by a weaker scheme than so far.
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
      // Somebody else has got it meanwhile.
      if !asksAnew, let kept = session.credential(in: space), kept != refused { return kept }
      for (scheme, challenge) in supported {
        let question = AuthenticationChallenge(
          scheme, challenge, url: url, failures: failures, refused: refused)
        guard let credential = await provider(question) else { continue }
        if credential.persistence == .session {
          // RFC 7616, section 3.5: without `domain` it is for the whole origin.
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

/// Holds what one request knows of credentials on its way through redirects.
struct Login {
  /// What is for this request alone.
  var credential: Credential?
  /// Whether there is a network to ask again.
  let mayAsk: Bool
  private var origin: NormalizedURL.Origin?

  /// Begins with the caller's credential, which is for the origin of the request and for no other.
  init(_ credential: Credential?, for url: NormalizedURL, mayAsk: Bool = true) {
    self.credential = credential
    self.mayAsk = mayAsk
    origin = credential.map { _ in NormalizedURL.Origin(url) }
  }

  mutating func take(_ credential: Credential, for url: NormalizedURL) {
    self.credential = credential
    origin = NormalizedURL.Origin(url)
  }

  /// Returns what to send to a URL; nil: nothing.
  func credential(for url: NormalizedURL, _ session: CredentialSession) -> Credential? {
    if let credential, origin == NormalizedURL.Origin(url) { return credential }
    return session.credential(for: url)
  }
}
