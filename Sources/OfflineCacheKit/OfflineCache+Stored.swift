import CacheSystem

// Stored responses, with the method names of URLCache. These calls block for as long as the disk
// takes.
extension OfflineCache {
  /// Returns the stored response for a request, however old it is, or `nil` if there is none or the
  /// delegate does not allow it.
  ///
  /// A stored redirect is returned as a redirect. Content codings are removed. The user info that
  /// was passed to ``store(_:for:)`` is included as far as it was kept.
  public func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let asked = storedRequest(request), let answer = stored(asked),
      let bytes = try? answer.storedBytes(limit: options.maximumDataBytes),
      let response = OfflineURLResponse.make(answer, to: asked)
    else { return nil }
    let isInMemoryOnly = answer.entry.map(client.keepsInMemoryOnly) ?? false
    return CachedURLResponse(
      response: response, data: Data(bytes),
      userInfo: answer.entry.flatMap { UserInfo.decode($0.userInfo) },
      storagePolicy: isInMemoryOnly ? .allowedInMemoryOnly : .allowed)
  }

  /// Stores a response in place of the previous one, as if a server had sent it now; its `Age` counts.
  ///
  /// The rules of HTTP decide whether it may be stored, and how long it is fresh. The data are the
  /// decoded content: `Content-Encoding` is left out, because URLSession has removed the coding.
  /// With the storage policy `allowedInMemoryOnly` a response is kept in memory, up to
  /// ``OfflineCacheOptions/memoryOnlyCapacity``, for the life of the cache, and is not written to
  /// disk.
  ///
  /// - Returns: The keys of user info that is not kept, because the keys are not text, or the
  ///   values cannot be in a property list (text, data, dates, numbers, Booleans, arrays and
  ///   dictionaries of those).
  /// - Throws: ``StoringError``.
  /// - Durability: That of the options, once it has returned.
  @discardableResult
  public func store(
    _ cached: CachedURLResponse, for request: URLRequest
  ) throws(StoringError) -> [AnyHashable] {
    guard let response = cached.response as? HTTPURLResponse else { throw .notHTTP }
    guard cached.storagePolicy != .notAllowed else { throw .storagePolicy }
    let asked: AskedRequest
    do throws(URLError) {
      asked = try AskedRequest(request, mode: .always)
    } catch {
      throw .request(error)
    }
    var head = HTTPResponseHead(status: response.statusCode)
    for (name, value) in response.allHeaderFields {
      guard let name = name as? String, let value = value as? String else { continue }
      head.fields.append(HTTPField(name, value))
    }
    if head.fields.contentCodings != nil { head.fields.markDecoded() }
    head.fields.removeAll(named: "Transfer-Encoding")
    head.fields.replace(with: HTTPField("Content-Length", String(cached.data.count)))
    let (info, lost) = UserInfo.encode(cached.userInfo)
    let outcome: Result<EntryInfo, NotStored>
    do throws(StoreError) {
      outcome = try client.store(
        [UInt8](cached.data), head, for: asked.request, userInfo: info, options: asked.options,
        inMemoryOnly: cached.storagePolicy == .allowedInMemoryOnly)
    } catch {
      throw .store(error)
    }
    if case .failure(let reason) = outcome { throw .rules(reason) }
    return lost
  }

  /// Returns the time until which the stored response for a request is fresh, which may be in the
  /// past, or `nil` if no response is stored.
  public func expirationDate(for request: URLRequest) -> Date? {
    guard let asked = storedRequest(request), let ttl = stored(asked)?.cacheStatus.ttl else {
      return nil
    }
    let now = TimeInterval(options.clock.now() / 1_000_000_000)
    return Date(timeIntervalSince1970: now + TimeInterval(ttl))
  }

  /// Removes all responses that are stored for the URL of a request, or for requests that are equal
  /// by the user's function.
  ///
  /// - Returns: Whether there was a stored response.
  /// - Throws: The errors of `Store.remove`.
  @discardableResult
  public func remove(for request: URLRequest) throws(StoreError) -> Bool {
    guard let asked = storedRequest(request) else { return false }
    return try client.remove(asked.request) > 0
  }

  /// Exempts all responses that are stored for the URL of a request from eviction, whatever other
  /// fields of requests select them.
  ///
  /// A response that replaces a pinned one is pinned, too; one that is stored beside it later, for
  /// another language for example, is not. Of a redirect only the redirect itself is pinned. Bodies of
  /// pinned responses may take half of the capacity, or `Limits.pinnedBytes`.
  ///
  /// - Returns: Whether there was a stored response; what is only in memory cannot be pinned.
  /// - Throws: `pinQuotaExceeded`, and the errors of `Store.update`. Then some may be pinned.
  /// - Durability: That of the options, once it has returned.
  @discardableResult
  public func pin(_ request: URLRequest) throws(StoreError) -> Bool {
    guard let asked = storedRequest(request) else { return false }
    return try client.pin(asked.request) > 0
  }

  /// Lets all responses that are stored for the URL of a request be evicted again.
  ///
  /// - Returns: Whether there was a stored response.
  /// - Throws: The errors of `Store.update`.
  /// - Durability: That of the options, once it has returned.
  @discardableResult
  public func unpin(_ request: URLRequest) throws(StoreError) -> Bool {
    guard let asked = storedRequest(request) else { return false }
    return try client.unpin(asked.request) > 0
  }

  /// Removes everything.
  ///
  /// - Throws: The errors of `Store.removeAll`.
  public func removeAll() throws(StoreError) { try client.removeAll() }

  /// Returns the request for the store only, or `nil` if its URL cannot be fetched.
  private func storedRequest(_ request: URLRequest) -> AskedRequest? {
    guard var asked = try? AskedRequest(request, mode: .always) else { return nil }
    asked.options.maximumRedirects = 0
    return asked
  }

  private func stored(_ asked: AskedRequest) -> ClientResponse? {
    client.storedAnswer(to: asked.request, options: asked.options)
  }
}
