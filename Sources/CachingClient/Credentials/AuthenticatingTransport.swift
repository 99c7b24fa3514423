import HTTPSemantics
import HTTPTransport

/// Puts real credentials in the place of names, just before a request leaves.
///
/// Above it, a request with a credential has the field `Authorization: OfflineCache NAME`, where the
/// name is always the same for the same secret. So the rules of HTTP see that there is a credential,
/// the store tells the answers to different ones apart, even by Digest, where what is sent is never
/// the same twice, and no secret comes near anything that is written.
struct AuthenticatingTransport: HTTPTransport {
  private static let scheme = "OfflineCache "

  /// How often a request is sent again on its own accord: once for what the server wants, and twice
  /// for nonces that are too old.
  private static let maximumRepeats = 3

  let transport: any HTTPTransport
  let session: CredentialSession

  /// Returns a request in which a name stands for a credential.
  static func naming(_ credential: Credential, in request: HTTPRequest) -> HTTPRequest {
    var named = request
    named.fields.append(HTTPField("Authorization", scheme + credential.name))
    return named
  }

  /// Returns the name that stands for a credential in a request; nil: there is none.
  static func name(in request: HTTPRequest) -> String? {
    request.fields.first(named: "Authorization").flatMap { name(in: $0) }
  }

  /// Returns the name that stands for a credential in a field; nil: there is none.
  static func name(in field: HTTPField) -> String? {
    guard field.isNamed("Authorization") else { return nil }
    let text = field.text
    return text.hasPrefix(scheme) ? String(text.dropFirst(scheme.count)) : nil
  }

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    guard let name = Self.name(in: request) else {
      return try await transport.send(request, body: body, options: options, onInterim: onInterim)
    }
    var real = request
    real.fields.removeAll(named: "Authorization")
    // It has been forgotten: the server says what is missing.
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
    while true {
      var real = request
      let way = session.way(for: credential, to: request.url)
      if let value = value(credential, way, request) {
        real.fields.append(HTTPField("Authorization", value))
      }
      let again = body.repeated
      let response = try await transport.send(
        real, body: body, options: options, onInterim: onInterim)
      guard response.head.status == 401, repeats < Self.maximumRepeats, let again,
        let next = Self.next(after: response.head, way, credential)
      else { return response }
      session.setWay(next, for: credential, to: request.url)
      await response.body.end()
      body = again.body
      repeats += 1
    }
  }

  /// Returns what to send; nil where the server has to say first what it wants.
  private func value(
    _ credential: Credential, _ way: CredentialSession.Way?, _ request: HTTPRequest
  ) -> String? {
    switch way {
    case .bearer: return credential.bearer
    case .basic: return credential.basic
    case .digest(let terms, let count):
      guard case .password(let user, let password) = credential.secret else { return nil }
      let random = [UInt64.random(in: 0 ... .max), .random(in: 0 ... .max)]
      return terms.authorization(
        user: user, password: password, method: request.method.rawValue, uri: request.url.target,
        count: count, clientNonce: random.map { String($0, radix: 16) }.joined())
    case nil:
      // There is one way to send a token.
      return credential.bearer ?? (credential.sendsBasicUnasked ? credential.basic : nil)
    }
  }

  /// Returns how to send a credential as a server has just demanded; nil where it has been refused.
  ///
  /// A password that has gone by Digest does not go by Basic because somebody now says so.
  static func next(
    after head: HTTPResponseHead, _ way: CredentialSession.Way?, _ credential: Credential
  ) -> CredentialSession.Way? {
    guard case .password = credential.secret else { return nil }
    let supported = AuthenticationChallenge.supported(in: head)
    let digest = supported.first { $0.scheme == .digest }.flatMap { DigestTerms($0.challenge) }
    if let digest {
      // A nonce that has been used before may be too old, whatever the server says of it.
      if case .digest(_, let count) = way, count <= 1, !digest.isStale { return nil }
      return .digest(digest, count: 0)
    }
    let offersBasic = supported.contains { $0.scheme == .basic }
    return way == nil && !credential.sendsBasicUnasked && offersBasic ? .basic : nil
  }
}
