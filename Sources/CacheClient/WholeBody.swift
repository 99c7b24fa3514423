extension CachingClient {
  /// The default limit of ``data(for:body:options:limit:)``: 1 GiB.
  public static let defaultBodyLimit = 1 << 30

  /// Answers a request, and returns the response with its whole body.
  ///
  /// A stored body that proves damaged is fetched again, if the policy permits a request.
  ///
  /// - Throws: ``ClientError``; ``ClientError/Cause/tooLarge(limit:)`` as soon as the body is
  ///   longer than the limit in bytes.
  public func data(
    for request: HTTPRequest, body: RequestBody? = nil, options: FetchOptions = FetchOptions(),
    limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    let response = try await fetch(request, body: body, options: options)
    do {
      return (try await wholeBody(of: response, limit: limit), response)
    } catch {
      // Another request with a body, or an unsafe one, would be another change.
      guard case .store = error.cause, options.policy.allowsNetwork, body == nil,
        request.method == .get || request.method == .head
      else { throw error }
    }
    var again = options
    again.policy = .reload
    let fresh = try await fetch(request, options: again)
    return (try await wholeBody(of: fresh, limit: limit), fresh)
  }

  /// Fetches a URL with `GET`, and returns the response with its whole body; see
  /// ``data(for:body:options:limit:)``.
  public func data(
    for url: NormalizedURL, options: FetchOptions = FetchOptions(), limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    try await data(for: HTTPRequest(url: url), options: options, limit: limit)
  }

  /// Reads the body of a response to its end; a stored one that is not in memory on a thread of the
  /// store.
  ///
  /// - Throws: as ``data(for:body:options:limit:)``.
  public func wholeBody(
    of response: ClientResponse, limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> [UInt8] {
    if case .bytes = response.body.content, let bytes = try response.storedBytes(limit: limit) {
      return bytes
    }
    if case .fromStore = response.body.storing {
      let stored = try await asyncStore.perform { _ throws(ClientError) in
        try response.storedBytes(limit: limit)
      }
      if let stored { return stored }
    }
    var bytes: [UInt8] = []
    while let piece = try await response.body.next() {
      guard bytes.count + piece.count <= limit else {
        response.body.cancel()
        throw ClientError(.tooLarge(limit: limit), url: response.request.url.string)
      }
      // Most bodies have one piece, which then need not be copied.
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
    }
    return bytes
  }
}

extension ClientResponse {
  /// Returns the remaining bytes of a stored body, waiting for the disk at most; `nil` if the body
  /// comes from the network, or has far more bytes in its content coding than the limit.
  ///
  /// - Throws: ``ClientError``; ``ClientError/Cause/tooLarge(limit:)`` if there are more bytes.
  public func storedBytes(
    limit: Int = CachingClient.defaultBodyLimit
  ) throws(ClientError) -> [UInt8]? {
    let tooLarge = ClientError(.tooLarge(limit: limit), url: request.url.string)
    do throws(ClientError) {
      guard let bytes = try body.source.storedBytes(limit: limit) else { return nil }
      if bytes.count > limit { throw tooLarge }
      return bytes
    } catch {
      // That of a part has the limit that the others have left.
      if case .tooLarge = error.cause { throw tooLarge }
      throw error
    }
  }
}
