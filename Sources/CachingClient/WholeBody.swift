public import HTTPSemantics

extension CachingClient {
  /// The longest body that ``data(for:policy:limit:)-(HTTPRequest,_,_)`` gives unless told
  /// otherwise: 1 GiB.
  public static let defaultBodyLimit = 1 << 30

  /// Fetches a URL with `GET` and returns the answer and its whole body.
  ///
  /// - Throws: ``ClientError``.
  public func data(
    for url: NormalizedURL, policy: FetchPolicy = .useStored, limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    try await data(for: HTTPRequest(url: url), policy: policy, limit: limit)
  }

  /// Answers a request and returns the answer and its whole body.
  ///
  /// A stored body that turns out to be damaged while it is read is fetched from the network,
  /// unless the policy is ``FetchPolicy/offline``.
  ///
  /// - Throws: ``ClientError``; ``ClientError/Cause/tooLarge(limit:)`` as soon as the body is
  ///   longer than the limit in bytes.
  public func data(
    for request: HTTPRequest, policy: FetchPolicy = .useStored, limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    let response = try await fetch(request, policy: policy)
    do {
      return (try await wholeBody(of: response, limit), response)
    } catch {
      guard case .store = error.cause, policy == .useStored else { throw error }
    }
    let fresh = try await fetchFromNetwork(request, .damaged)
    return (try await wholeBody(of: fresh, limit), fresh)
  }

  private func wholeBody(
    of response: ClientResponse, _ limit: Int
  ) async throws(ClientError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await response.body.next() {
      guard bytes.count + piece.count <= limit else {
        response.body.cancel()
        throw ClientError(.tooLarge(limit: limit), url: response.request.url.string)
      }
      // Most bodies come in one piece, which then need not be copied.
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
    }
    return bytes
  }
}
