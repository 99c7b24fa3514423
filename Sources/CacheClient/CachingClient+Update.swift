import CacheSystem

extension CachingClient {
  /// Asks the server whether it has something newer than the stored response, without changing
  /// that.
  ///
  /// Sends a `HEAD` with the validators of the copy (RFC 9110, section 13.1). If the server does
  /// not allow `HEAD`, sends a `GET` whose body is not read. The whole timeout of the options
  /// limits all of it.
  ///
  /// - Parameters:
  ///   - request: The request whose answer is stored.
  ///   - credential: As in ``FetchOptions/credential``.
  ///   - options: How the request is sent; `nil` for the options of the client.
  /// - Throws: ``ClientError/Cause/transport(_:)`` if the server does not answer in time; the copy
  ///   stays as it is.
  public func updateState(
    of request: HTTPRequest, credential: Credential? = nil, options: TransportOptions? = nil
  ) async throws(ClientError) -> UpdateState {
    let copy = await asyncStore.perform { [self] _ in
      storedAnswer(
        to: request, options: FetchOptions(policy: .offline, credential: credential))
    }
    guard let copy, copy.source != .substitute else { return .missing }
    do throws(TransportError) {
      return try await UpdateCheck(
        transport: transport.sending(credential, to: request.url),
        options: options ?? self.options.transport
      )
      .state(
        of: copy.head, from: copy.url.string, ContentDecoding.offer(request, FetchOptions()))
    } catch {
      throw ClientError(.transport(error), url: request.url.string)
    }
  }
}
