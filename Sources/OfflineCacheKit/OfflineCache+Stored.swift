import CacheClient
import CacheFormat
public import CacheStore
import CacheSystem
public import Foundation
import HTTPCaching
import HTTPSemantics

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// What is stored, as URLCache spells it. These calls block for as long as the disk takes.
extension OfflineCache {
  /// Returns what is stored for a request, however old; nil where there is nothing, or the delegate does
  /// not allow it.
  ///
  /// A stored redirect is returned as such. Content codings are taken off. The user info that was given
  /// to ``store(_:for:)`` is there as far as it was kept.
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

  /// Stores a response by hand, in place of what was there, as if a server had sent it now.
  ///
  /// The rules of HTTP say whether it may be, and how long it is fresh. The data are taken for the
  /// content: `Content-Encoding` is left out, as URLSession has taken the coding off. With the storage
  /// policy `allowedInMemoryOnly` a response is kept in memory, up to
  /// ``OfflineCacheOptions/memoryOnlyCapacity``, as long as the cache, and is not written to disk.
  ///
  /// - Returns: the keys of user info that are not kept, as they are not text, or their values are
  ///   nothing that a property list can have (text, data, dates, numbers, Booleans, arrays and
  ///   dictionaries of those).
  /// - Throws: ``StoringError``.
  /// - Durability: that of the options, once it has returned.
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
    for name in ["Content-Encoding", "Transfer-Encoding", "Age"] {
      head.fields.removeAll(named: name)
    }
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

  /// Tells until when what is stored for a request is fresh, which may be in the past; nil where nothing
  /// is stored.
  public func expirationDate(for request: URLRequest) -> Date? {
    guard let asked = storedRequest(request), let ttl = stored(asked)?.cacheStatus.ttl else {
      return nil
    }
    let now = TimeInterval(options.clock.now() / 1_000_000_000)
    return Date(timeIntervalSince1970: now + TimeInterval(ttl))
  }

  /// Removes all that is stored for the URL of a request, or for what the user's function says is equal.
  ///
  /// - Returns: whether there was something.
  /// - Throws: as `Store.remove`.
  @discardableResult
  public func remove(for request: URLRequest) throws(StoreError) -> Bool {
    guard let asked = storedRequest(request) else { return false }
    return try client.remove(asked.request) > 0
  }

  /// Removes everything.
  ///
  /// - Throws: as `Store.removeAll`.
  public func removeAll() throws(StoreError) { try client.removeAll() }

  /// Returns the request that asks the store alone; nil where its URL is none that can be fetched.
  private func storedRequest(_ request: URLRequest) -> AskedRequest? {
    guard var asked = try? AskedRequest(request, mode: .always) else { return nil }
    asked.options.maximumRedirects = 0
    return asked
  }

  private func stored(_ asked: AskedRequest) -> ClientResponse? {
    client.storedAnswer(to: asked.request, options: asked.options)
  }
}
