public import HTTPAuthentication
import HTTPCaching
public import HTTPSemantics
public import HTTPTransports

// Who asks for credentials gets them.
extension CachingClient {
  /// Gives the client's way to the network, for what goes around the store, such as a `Downloader`:
  /// servers that ask for credentials get those that the client has, or its provider gives.
  public var transport: any HTTPTransport {
    LoginTransport(transport: originFetcher.transport, authenticator: authenticator)
  }

  /// Sends a credential to the directory of a URL, and what is below it, without being asked for.
  ///
  /// So a program that knows its user finds what it has stored for that user while there is no
  /// network. It is kept in memory until a server refuses it, or ``forgetCredentials()``.
  public func use(_ credential: Credential, for url: NormalizedURL) {
    let space = CredentialSession.Space(origin: NormalizedURL.Origin(url), realm: "")
    authenticator.session.keep(credential, in: space, at: url, everywhere: false)
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

  /// Changes with each log-in and log-out: what came between two equal values came with the
  /// credential that is kept, or without one.
  package var loginState: UInt64 { authenticator.session.changes }

  /// Returns a request as the store sees it: with the name of the credential that would be sent.
  func named(_ request: HTTPRequest, _ credential: Credential?) -> HTTPRequest {
    guard !request.fields.contains("Authorization"),
      let credential = Login(credential, for: request.url)
        .credential(for: request.url, authenticator.session)
    else { return request }
    return AuthenticatingTransport.naming(credential, in: request)
  }

  /// Tells whether a field of a request stands for a credential, as `mayReturnStored` may see it.
  package static func isPlaceholder(_ field: HTTPField) -> Bool {
    AuthenticatingTransport.name(in: field) != nil
  }

  /// Answers a request, and asks for credentials where a server does.
  func authenticated(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions, login: inout Login
  ) async throws(ClientError) -> ClientResponse {
    // A function and no closure, for which a caller on an actor would change threads, there and
    // back.
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
