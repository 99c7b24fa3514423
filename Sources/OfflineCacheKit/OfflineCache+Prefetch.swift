/// The result of one request of a prefetch.
public enum PrefetchResult: Sendable {
  /// The content is there without a network: it is stored, if only for use without one (`Vary: *`,
  /// ``OfflineCacheOptions/keepsNoStore``), or a substitute has it. The metadata of the response shows
  /// whether it was fetched now.
  case stored(OfflineURLResponse)
  /// The server has answered, but the content is not there without a network, for this reason.
  case notStored(OfflineURLResponse, NotStored)
  /// There is no response.
  case failed(URLError)

  /// The response; `nil` if there is none.
  public var response: OfflineURLResponse? {
    switch self {
    case .stored(let response), .notStored(let response, _): response
    case .failed: nil
    }
  }
}

extension OfflineCache {
  /// Fetches the content of requests into the cache, without returning it.
  ///
  /// Each request is answered as by ``data(for:)``: a fresh stored response is not fetched again, a
  /// stale one is validated. Content is stored while it is read, in bounded memory; content that is
  /// not kept is not read. If the task is cancelled, the requests that have no result yet
  /// fail with `cancelled`; the responses stored until then stay.
  ///
  /// If a limit of the store has no room for all, those that were stored first are evicted again. At the end,
  /// such a result is ``PrefetchResult/notStored(_:_:)`` with `gone`.
  ///
  /// ```swift
  /// let results = await cache.prefetch(urls.map { URLRequest(url: $0) })
  /// for case .failed(let error) in results { print(error.localizedDescription) }
  /// ```
  ///
  /// - Parameters:
  ///   - requests: `GET` requests, in the order in which they are begun.
  ///   - maximumTransfers: The limit of requests that run at once, at least 1.
  ///   - priority: The place among the requests that wait for a connection, as in
  ///     ``data(for:expiresAfter:priority:)``. By default they come after other requests.
  /// - Returns: A result for each request, in the order of the requests.
  /// - Durability: That of the options, for results that are `stored`.
  public func prefetch(
    _ requests: [URLRequest], maximumTransfers: Int = 4, priority: Int = -1
  ) async -> [PrefetchResult] {
    let logOuts = client.logOutCount
    return await withTaskGroup(of: (Int, PrefetchResult).self) { group in
      var results: [Int: PrefetchResult] = [:]
      for (index, request) in requests.enumerated() {
        if index >= max(1, maximumTransfers), let (done, result) = await group.next() {
          results[done] = result
        }
        group.addTask { [self] in (index, await prefetch(request, priority: priority, logOuts)) }
      }
      for await (done, result) in group { results[done] = result }
      return requests.indices.compactMap { index in
        results[index].map { withoutGone($0, requests[index]) }
      }
    }
  }

  /// Returns `notStored` for what is no longer there: evicted since, or behind a redirect that was not stored.
  private func withoutGone(_ result: PrefetchResult, _ request: URLRequest) -> PrefetchResult {
    guard case .stored(let response) = result,
      let asked = try? AskedRequest(request, mode: .always)
    else { return result }
    if let there = client.storedAnswer(to: asked.request, options: asked.options) {
      there.body.cancel()
      return result
    }
    return .notStored(response, .gone)
  }

  private func prefetch(
    _ request: URLRequest, priority: Int, _ logOuts: Int
  ) async -> PrefetchResult {
    do throws(URLError) {
      var asked = try AskedRequest(request, mode: offlineMode, priority: priority)
      asked.options.logOuts = logOuts
      let (obstacle, response) = try await answering(asked, Self.readIntoStore)
      return obstacle.map { .notStored(response, $0) } ?? .stored(response)
    } catch {
      return .failed(error)
    }
  }

  /// Reads a body from the network to its end, so that it is stored. Returns the reason if it is
  /// not, not even in the history.
  private static func readIntoStore(
    _ response: ClientResponse
  ) async throws(ClientError) -> NotStored? {
    guard response.source == .network else {
      response.body.cancel()
      return nil
    }
    repeat {
      guard case .notStored(let reason) = response.body.keeping else { continue }
      response.body.cancel()
      // Damage is found while the body is stored, or else when it is decoded for the caller.
      if case .damaged(let error) = reason {
        throw ClientError(.coding(error), url: response.url.string)
      }
      return reason
    } while try await response.body.next() != nil
    if case .notStored(let reason) = response.body.keeping { return reason }
    return nil
  }
}
