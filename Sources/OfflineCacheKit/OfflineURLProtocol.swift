import CacheSystem

/// Makes an existing URLSession use a cache.
///
/// ```swift
/// OfflineCache.shared = cache
/// configuration.protocolClasses = [OfflineURLProtocol.self]
/// ```
///
/// `GET` and `HEAD` are answered from ``OfflineCache/shared``, or from the ``cache`` of a subclass.
/// URLSession sends all other requests. On Linux this is for data tasks; download tasks fail,
/// because URLSession would crash. The content is delivered in one piece. Redirects are followed by
/// the cache. Headers, timeouts and cookies of the session's configuration are not available to it.
/// Docs/Foundation.md lists the limits.
open class OfflineURLProtocol: URLProtocol {
  /// The cache that answers. With `nil`, URLSession sends the requests itself.
  open class var cache: OfflineCache? { OfflineCache.shared }

  /// The current load. Used only on the loading queue.
  private var load: ProtocolLoad?

  /// Returns whether a request is a `GET` or `HEAD` of http or https, without a body.
  public override class func canInit(with request: URLRequest) -> Bool {
    guard let scheme = request.url?.scheme?.lowercased(), scheme == "http" || scheme == "https"
    else { return false }
    let method = request.httpMethod ?? "GET"
    return (method == "GET" || method == "HEAD") && request.httpBody == nil
      && request.httpBodyStream == nil && cache != nil
  }

  /// Returns the request unchanged: the cache itself decides which requests are equal.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Delivers a stored response at once if its content is available without waiting, any other
  /// response later, on the queue of the caller.
  public override func startLoading() {
    guard isWaiting else { return }
    load?.stop()
    let load = ProtocolLoad(self)
    self.load = load
    #if !canImport(Darwin)
      if task is URLSessionDownloadTask {
        load.fail(
          URLError(
            .unsupportedURL, url: request.url,
            cause: "download tasks of URLSession cannot be answered by a URLProtocol on Linux; use "
              + "OfflineCache.download(for:to:), or a data task"))
        return
      }
    #endif
    guard let cache = Self.cache else {
      load.fail(
        URLError(
          .resourceUnavailable, url: request.url,
          cause: "there is no cache any more; set OfflineCache.shared before the session is used"))
      return
    }
    do throws(URLError) {
      var asked = try AskedRequest(request, mode: cache.offlineMode)
      #if canImport(Darwin)
        // The client gets the redirects.
        asked.options.maximumRedirects = 0
      #endif
      if let (bytes, response) = cache.storedNow(asked) {
        load.finish(Fetched(asked: asked, cache: cache, bytes: bytes, response: response))
      } else {
        load.run(asked, cache)
      }
    } catch {
      load.fail(error)
    }
  }

  /// Whether the task still waits for a response.
  ///
  /// Between `cancel()` of a task and `stopLoading` other work of the queue may run, on Linux even
  /// `startLoading` after both. URLSession then reports the cancellation itself, and on Linux
  /// crashes if it is called for a task that has ended.
  fileprivate var isWaiting: Bool {
    switch task?.state {
    case .canceling, .completed: false
    default: true
    }
  }

  /// Releases a load that has ended by itself. Until then it keeps this object alive, because
  /// URLSession on Linux does not call `stopLoading` after it.
  func forget(_ ended: ProtocolLoad) {
    if load === ended { load = nil }
  }

  /// Ends the load: nothing is delivered after that.
  public override func stopLoading() {
    #if !canImport(Darwin)
      // On Linux, a `suspend()` may arrive after the `resume()` that followed it.
      if task?.state == .running { return }
    #endif
    load?.stop()
    load = nil
  }
}

struct Fetched: Sendable {
  let asked: AskedRequest
  let cache: OfflineCache
  let bytes: [UInt8]
  let response: OfflineURLResponse
  var failures = 0
}

/// Delivers the result of one load to the client, once.
///
/// Everything but the fetch happens on the queue that started the load.
final class ProtocolLoad: Sendable {
  // Safety: the protocol and its client are used only on the loading queue.
  nonisolated(unsafe) let target: OfflineURLProtocol
  private let queue: LoadingQueue?
  private let state = Lock(State())

  private struct State {
    var isOver = false
    var task: Task<Void, Never>?
  }

  init(_ target: OfflineURLProtocol) {
    unsafe self.target = target
    queue = LoadingQueue()
  }

  /// Fetches the response, and delivers it on the loading queue.
  func run(_ asked: AskedRequest, _ cache: OfflineCache, failures: Int = 0) {
    guard queue != nil else {
      fail(
        URLError(
          .unknown, url: asked.url,
          cause: "URLSession loads on no queue; tell the authors which version of Swift it is"))
      return
    }
    let task = Task { [self] in
      do throws(URLError) {
        let (bytes, response) = try await cache.whole(asked)
        let fetched = Fetched(
          asked: asked, cache: cache, bytes: bytes, response: response, failures: failures)
        onQueue { $0.finish(fetched) }
      } catch {
        onQueue { $0.fail(error) }
      }
    }
    state.withLock { $0.task = task }
  }

  func onQueue(_ work: @escaping @Sendable (ProtocolLoad) -> Void) {
    queue?.run { [self] in work(self) }
  }

  /// Delivers a response, or what the client has to know of it first. Called on the loading queue.
  func finish(_ fetched: Fetched) {
    #if canImport(Darwin)
      guard !isOver, unsafe target.isWaiting else { return }
      if redirect(fetched) || askForCredential(fetched) { return }
    #endif
    deliver(fetched)
  }

  /// Delivers a response. Called on the loading queue.
  func deliver(_ fetched: Fetched) {
    guard end(), let client = unsafe target.client else { return }
    unsafe client.urlProtocol(
      target, didReceive: Self.deliverable(fetched.response), cacheStoragePolicy: .notAllowed)
    if !fetched.bytes.isEmpty { unsafe client.urlProtocol(target, didLoad: Data(fetched.bytes)) }
    unsafe client.urlProtocolDidFinishLoading(target)
    unsafe target.forget(self)
  }

  /// Delivers an error. Called on the loading queue.
  func fail(_ error: URLError) {
    guard end(), let client = unsafe target.client else { return }
    unsafe client.urlProtocol(target, didFailWithError: error)
    unsafe target.forget(self)
  }

  /// Ends the load without a delivery. Called on the loading queue.
  func stop() {
    let task = state.withLock { state in
      state.isOver = true
      return state.task
    }
    if let task { callOut { task.cancel() } }
  }

  /// Whether the result was delivered, or is not wanted any more.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Returns whether the client may still be called, and ensures that it is called once.
  func end() -> Bool {
    guard unsafe target.isWaiting else { return false }
    return state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
  }

  /// Returns a response that URLSession can deliver. On Linux a task with a completion handler
  /// never completes if a 401 or 407 names a challenge. The challenge is removed, so that the
  /// caller gets the status.
  private static func deliverable(_ response: OfflineURLResponse) -> OfflineURLResponse {
    #if canImport(Darwin)
      return response
    #else
      guard response.statusCode == 401 || response.statusCode == 407 else { return response }
      return response.without(["WWW-Authenticate", "Proxy-Authenticate"])
    #endif
  }
}
