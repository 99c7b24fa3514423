package import HTTPSemantics
package import HTTPTransports

/// A transport that replaces the name of a credential by the credential, just before a request is
/// sent.
///
/// Above this transport, a request with a credential has the field `Authorization: OfflineCache
/// NAME`. The name is always the same for the same secret. So the rules of HTTP see that there is a
/// credential, the store keeps the answers to different credentials apart (even with Digest, where
/// no two fields are equal), and no secret is passed to code that writes files.
package struct AuthenticatingTransport: HTTPTransport {
  private static let scheme = "OfflineCache "

  /// How often a request is repeated without asking anybody: once for the scheme that the server
  /// wants, and twice for expired nonces.
  private static let maximumRepeats = 3

  private let transport: any HTTPTransport
  private let session: CredentialSession

  package init(transport: any HTTPTransport, session: CredentialSession) {
    self.transport = transport
    self.session = session
  }

  /// Returns a request with the name of a credential in the place of the credential.
  package static func naming(_ credential: Credential, in request: HTTPRequest) -> HTTPRequest {
    var named = request
    named.fields.append(HTTPField("Authorization", scheme + credential.name))
    return named
  }

  /// Returns the name of the credential in a request, or `nil` if there is none.
  package static func name(in request: HTTPRequest) -> String? {
    request.fields.first(named: "Authorization").flatMap { name(in: $0) }
  }

  /// Returns the name of the credential in a field, or `nil` if there is none.
  package static func name(in field: HTTPField) -> String? {
    guard field.isNamed("Authorization") else { return nil }
    let text = field.text
    return text.hasPrefix(scheme) ? String(text.dropFirst(scheme.count)) : nil
  }

  package var isForOneUser: Bool { transport.isForOneUser }

  package var mayUseProxy: Bool { transport.mayUseProxy }

  package func reset() async { await transport.reset() }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    guard let name = Self.name(in: request) else {
      return try await transport.send(request, body: body, options: options, onInterim: onInterim)
    }
    var real = request
    real.fields.removeAll(named: "Authorization")
    // A credential that was forgotten is not sent: the server will ask for it again.
    guard let credential = session.credential(named: name) else {
      return try await transport.send(real, body: body, options: options, onInterim: onInterim)
    }
    return try await send(real, credential, body, options, onInterim)
  }

  private func send(
    _ request: HTTPRequest, _ credential: Credential, _ body: RequestBody?,
    _ options: TransportOptions, _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    var body = body
    var repeats = 0
    let logOuts = session.logOuts
    var way = session.way(for: credential, to: request.url)
    while true {
      var real = request
      let value = value(credential, way, request)
      if let value {
        real.fields.append(HTTPField("Authorization", value))
      }
      let again = body.repeated
      let response = try await transport.send(
        real, body: body, options: options, onInterim: onInterim)
      if value != nil, response.head.status < 400 {
        session.noteAccepted(credential, at: request.url)
      }
      // A new nonce is this request's alone until then, as it may be valid once.
      if repeats > 0, response.head.status != 401, let way {
        session.setWay(way, for: credential, to: request.url)
      }
      guard response.head.status == 401, repeats < Self.maximumRepeats, let again,
        Self.isStale(response.head)
          || !session.isForOtherRealm(credential, than: response.head, at: request.url),
        let next = Self.next(
          after: response.head, way, credential,
          mayBeUsed: repeats == 0 && !session.isLatest(way, for: credential, to: request.url))
      else { return response }
      way = next
      await response.body.end()
      body = again.body
      guard session.logOuts == logOuts else {
        return try await transport.send(
          request, body: body, options: options, onInterim: onInterim)
      }
      repeats += 1
    }
  }

  /// Returns the value of `Authorization`, or `nil` if the server has to ask first.
  private func value(
    _ credential: Credential, _ way: CredentialSession.Way?, _ request: HTTPRequest
  ) -> String? {
    switch way {
    case .bearer: return credential.bearer
    case .basic: return credential.basic
    case .digest(let terms, let count):
      guard case .password(let user, let password) = credential.secret else { return nil }
      return terms.authorization(
        user: user, password: password, method: request.method.rawValue, uri: request.url.target,
        count: count)
    case nil:
      // A token is sent by Bearer only.
      return credential.bearer ?? (credential.sendsBasicUnasked ? credential.basic : nil)
    }
  }

  /// Returns whether a 401 says that a nonce has expired: the server has not looked at the password.
  static func isStale(_ head: HTTPResponseHead) -> Bool {
    AuthenticationChallenge.supported(in: head).contains {
      $0.scheme == .digest && DigestTerms($0.challenge)?.isStale == true
    }
  }

  /// Returns how to send a credential after a 401, or `nil` if the server has refused it. A nonce has
  /// the number of its first use.
  ///
  /// A password that was sent by Digest is never sent by Basic just because a server asks for that.
  ///
  /// - Parameter mayBeUsed: Whether others have sent the nonce, too, and perhaps used it up.
  static func next(
    after head: HTTPResponseHead, _ way: CredentialSession.Way?, _ credential: Credential,
    mayBeUsed: Bool = false
  ) -> CredentialSession.Way? {
    guard case .password = credential.secret else { return nil }
    let supported = AuthenticationChallenge.supported(in: head)
    let digest = supported.first { $0.scheme == .digest }.flatMap { DigestTerms($0.challenge) }
    if let digest {
      // A nonce that was used before may have expired, even if the server does not say so.
      if case .digest(_, let count) = way, count <= 1, !mayBeUsed, !digest.isStale { return nil }
      return .digest(digest, count: 1)
    }
    let offersBasic = supported.contains { $0.scheme == .basic }
    return way == nil && !credential.sendsBasicUnasked && offersBasic ? .basic : nil
  }
}
