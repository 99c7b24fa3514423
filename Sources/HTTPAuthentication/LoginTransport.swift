package import HTTPSemantics
public import HTTPTransports

extension HTTPTransport {
  /// Returns a transport that answers servers that ask for credentials, for requests that bypass
  /// the store, such as downloads. The transport of a client already does that.
  ///
  /// - Parameters:
  ///   - vault: Has the credentials that were remembered; it is asked before the provider.
  ///   - provider: Answers the challenges of servers.
  public func loggingIn(
    vault: (any CredentialVault)? = nil, _ provider: @escaping CredentialProvider
  ) -> any HTTPTransport {
    let authenticator = Authenticator(provider: provider, vault: vault)
    return LoginTransport(
      transport: AuthenticatingTransport(transport: self, session: authenticator.session),
      authenticator: authenticator)
  }

  /// Returns a transport that sends a credential to the origin of a URL, if this transport logs in.
  package func sending(_ credential: Credential?, to url: NormalizedURL) -> any HTTPTransport {
    guard let credential, var login = self as? LoginTransport else { return self }
    login.own = (credential, url)
    return login
  }
}

/// A transport that repeats a request with credentials if the server asks for them.
package struct LoginTransport: HTTPTransport {
  private let transport: any HTTPTransport
  private let authenticator: Authenticator
  /// The credential that is sent to the origin of this URL before the provider is asked.
  fileprivate var own: (credential: Credential, url: NormalizedURL)?

  /// Creates a transport on top of an ``AuthenticatingTransport`` of the same session.
  package init(transport: any HTTPTransport, authenticator: Authenticator) {
    self.transport = transport
    self.authenticator = authenticator
  }

  package var isForOneUser: Bool { transport.isForOneUser }

  package var mayUseProxy: Bool { transport.mayUseProxy }

  package func reset() async { await transport.reset() }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    let credential = own.flatMap { $0.url.isSameOrigin(as: request.url) ? $0.credential : nil }
    var login = Login(credential, for: request.url)
    return try await authenticator.answer(
      request, body, &login, head: { $0.head },
      discard: { await $0.body.end() }, failure: { $0 }
    ) { request, body throws(TransportError) in
      var response = try await transport.send(
        request, body: body, options: options, onInterim: onInterim)
      response.user = request.fields.first(named: "Authorization")?.text
      return response
    }
  }
}
