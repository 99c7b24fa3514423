import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's URLCache, on disk.
///
/// On Linux it keys by host and path only, scans its folder on every store and crashes when a key
/// that was stored twice is evicted: so its capacity is never reached here, and nothing is replaced.
final class URLCacheSystem: CacheUnderTest {
  struct Value {
    var request: URLRequest
    var response: CachedURLResponse
  }

  let name = SystemName.urlcache
  private let corpus: Corpus
  private let cache: URLCache
  private var lastBody = Data()

  init(path: String, corpus: Corpus) {
    self.corpus = corpus
    cache = URLCache(memoryCapacity: 0, diskCapacity: 1 << 40, diskPath: path)
  }

  private init(sharing other: URLCacheSystem) {
    corpus = other.corpus
    cache = other.cache
  }

  func makeValue(_ entry: EntryID) throws -> Value {
    let request = makeKey(entry)
    var fields: [String: String] = [:]
    for field in corpus.fields(entry) { fields[field.name] = field.value }
    guard let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
    else { throw BenchmarkError("urlcache: no response for \(corpus.url(entry.index))") }
    return Value(
      request: request,
      response: CachedURLResponse(response: response, data: Data(corpus.body(entry))))
  }

  func makeKey(_ entry: EntryID) -> URLRequest {
    guard let url = URL(string: corpus.url(entry.index)) else {
      preconditionFailure("The corpus made a URL that Foundation does not accept.")
    }
    return URLRequest(url: url)
  }

  func store(_ value: Value) {
    cache.storeCachedResponse(value.response, for: value.request)
  }

  func hit(_ key: URLRequest) -> Bool {
    guard let answer = cache.cachedResponse(for: key) else { return false }
    lastBody = answer.data
    return true
  }

  func miss(_ key: URLRequest) -> Bool {
    cache.cachedResponse(for: key) == nil
  }

  func lastBodyEquals(_ body: [UInt8]) -> Bool {
    lastBody.elementsEqual(body)
  }

  func sibling() -> any CacheUnderTest {
    URLCacheSystem(sharing: self)
  }

  func close() {}
}
