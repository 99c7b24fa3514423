import HTTPCaching
public import HTTPSemantics

extension CachingClient {
  /// The longest body that ``data(for:options:limit:)`` gives unless told otherwise: 1 GiB.
  public static let defaultBodyLimit = 1 << 30

  /// Answers a request and returns the answer and its whole body.
  ///
  /// A stored body that turns out to be damaged while it is read is fetched again, where the policy
  /// allows to ask the network.
  ///
  /// - Throws: ``ClientError``; ``ClientError/Cause/tooLarge(limit:)`` as soon as the body is
  ///   longer than the limit in bytes.
  public func data(
    for request: HTTPRequest, options: FetchOptions = FetchOptions(),
    limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    let response = try await fetch(request, options: options)
    do {
      return (try await wholeBody(of: response, limit), response)
    } catch {
      guard case .store = error.cause, options.policy.allowsNetwork else { throw error }
    }
    var again = options
    again.policy = .reload
    let fresh = try await fetch(request, options: again)
    return (try await wholeBody(of: fresh, limit), fresh)
  }

  /// Fetches a URL with `GET` and returns the answer and its whole body; see
  /// ``data(for:options:limit:)``.
  public func data(
    for url: NormalizedURL, options: FetchOptions = FetchOptions(), limit: Int = defaultBodyLimit
  ) async throws(ClientError) -> (bytes: [UInt8], response: ClientResponse) {
    try await data(for: HTTPRequest(url: url), options: options, limit: limit)
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
