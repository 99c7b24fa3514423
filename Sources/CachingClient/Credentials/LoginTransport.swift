import HTTPSemantics
import HTTPTransport

/// Sends requests as a client does, with its credentials, but around its store.
struct LoginTransport: HTTPTransport {
  let client: CachingClient

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    let transport = client.exchange.transport
    guard !request.fields.contains("Authorization") else {
      return try await transport.send(request, body: body, options: options, onInterim: onInterim)
    }
    var login = Login(FetchOptions(), request.url)
    var body = body
    while true {
      let credential = login.credential(for: request.url, client.session)
      var named = request
      if let credential {
        named.fields.append(AuthenticatingTransport.placeholder(credential))
        client.session.retain(credential)
      }
      defer { if let credential { client.session.release(credential) } }
      let again = body.repeated
      let response = try await transport.send(
        named, body: body, options: options, onInterim: onInterim)
      guard response.head.status == 401, let again,
        await client.log(in: &login, response.head, request.url, refused: credential)
      else { return response }
      response.body.cancel()
      body = again.body
    }
  }
}
