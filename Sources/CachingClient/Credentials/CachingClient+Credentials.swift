import HTTPCaching
public import HTTPSemantics
import HTTPTransport

// Who asks for credentials gets them.
extension CachingClient {
  /// The most credentials that are tried for one request.
  static let maximumTries = 3

  /// Sends a credential to the directory of a URL, and what is below it, without being asked for.
  ///
  /// So a program that knows its user finds what it has stored for that user while there is no network.
  /// It is kept in memory until a server refuses it, or ``forgetCredentials()``.
  public func use(_ credential: Credential, for url: NormalizedURL) {
    let space = CredentialSession.Space(origin: CredentialSession.Origin(url), realm: "")
    session.keep(credential, in: space, at: url, everywhere: false)
  }

  /// Forgets all credentials that are kept for the session. What is stored with them stays; nobody gets
  /// it without them.
  public func forgetCredentials() {
    session.forgetAll()
  }

  /// Answers a request, and asks for credentials where a server does.
  ///
  /// A request that comes with its own `Authorization` is the caller's affair.
  func authenticated(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions, _ login: inout Login
  ) async throws(ClientError) -> ClientResponse {
    guard !request.fields.contains("Authorization") else {
      return try await answer(request, body, options)
    }
    var body = body
    while true {
      let credential = login.credential(for: request.url, session)
      let again = body.repeated
      let response = try await answer(request, body, options, with: credential)
      guard response.head.status == 401, options.policy.allowsNetwork, let again,
        await log(in: &login, response.head, request.url, refused: credential)
      else { return response }
      await response.body.drain(upTo: 1 << 16)
      body = again.body
    }
  }

  /// Finds another credential for a server that has answered 401.
  ///
  /// - Parameter refused: was sent, and is forgotten.
  /// - Returns: whether there is one.
  func log(
    in login: inout Login, _ head: HTTPResponseHead, _ url: NormalizedURL,
    refused credential: Credential?
  ) async -> Bool {
    if let credential { session.forget(credential, at: url) }
    login.refuse(credential, at: url)
    guard login.failures < Self.maximumTries,
      let next = await find(for: url, head, login.failures, login.refused)
    else { return false }
    login.take(next, for: url)
    session.learn(head, for: next, to: url)
    return true
  }

  private func answer(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions,
    with credential: Credential?
  ) async throws(ClientError) -> ClientResponse {
    guard let credential else { return try await answer(request, body, options) }
    var named = request
    named.fields.append(AuthenticatingTransport.placeholder(credential))
    session.retain(credential)
    defer { session.release(credential) }
    return try await answer(named, body, options)
  }

  /// Returns the credential for a 401: one that is kept for its protection space, else what the
  /// provider gives.
  private func find(
    for url: NormalizedURL, _ head: HTTPResponseHead, _ failures: Int, _ refused: Credential?
  ) async -> Credential? {
    let supported = AuthenticationChallenge.supported(in: head)
    guard let first = supported.first else { return nil }
    let space = CredentialSession.Space(
      origin: CredentialSession.Origin(url), realm: first.challenge.realm)
    if let kept = session.credential(in: space), kept != refused {
      session.keep(kept, in: space, at: url, everywhere: false)
      return kept
    }
    guard let provider = options.credentials else { return nil }
    return await session.ask(for: space) { [session] in
      // Somebody else has got it meanwhile.
      if let kept = session.credential(in: space), kept != refused { return kept }
      for (scheme, challenge) in supported {
        let question = AuthenticationChallenge(
          scheme, challenge, url: url, failures: failures, refused: refused)
        guard let credential = await provider(question) else { continue }
        if credential.persistence == .session {
          // RFC 7616, section 3.5: without `domain` it is for the whole origin.
          session.keep(credential, in: space, at: url, everywhere: scheme == .digest)
        }
        return credential
      }
      return nil
    }
  }
}

/// Holds what one fetch knows of credentials on its way through redirects.
struct Login {
  /// What is for this request alone.
  private(set) var credential: Credential?
  /// Counts the credentials that were refused, and holds the last one.
  private(set) var failures = 0
  private(set) var refused: Credential?
  private var refusing: CredentialSession.Origin?
  private var origin: CredentialSession.Origin?

  /// Begins with the caller's credential, which is for the origin of the request and for no other.
  init(_ options: FetchOptions, _ url: NormalizedURL) {
    credential = options.credential
    origin = credential.map { _ in CredentialSession.Origin(url) }
  }

  /// Counts a refusal; what another origin has refused before does not count.
  mutating func refuse(_ credential: Credential?, at url: NormalizedURL) {
    let origin = CredentialSession.Origin(url)
    if refusing != origin { (failures, refused, refusing) = (0, nil, origin) }
    guard let credential else { return }
    self.credential = nil
    refused = credential
    failures += 1
  }

  mutating func take(_ credential: Credential, for url: NormalizedURL) {
    self.credential = credential
    origin = CredentialSession.Origin(url)
  }

  /// Returns what to send to a URL; nil: nothing.
  func credential(for url: NormalizedURL, _ session: CredentialSession) -> Credential? {
    if let credential, origin == CredentialSession.Origin(url) { return credential }
    return session.credential(for: url)
  }
}
