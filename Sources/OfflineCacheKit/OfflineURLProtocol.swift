import CacheSystem
import HTTPSemantics

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Puts a cache under an existing URLSession.
///
/// ```swift
/// OfflineCache.shared = cache
/// configuration.protocolClasses = [OfflineURLProtocol.self]
/// ```
///
/// Answers `GET` and `HEAD` from ``OfflineCache/shared``, or from the ``cache`` of a subclass; URLSession
/// sends all other requests. On Linux this is for data tasks; download tasks fail, as URLSession would
/// crash. The content is delivered in one piece. Redirects are followed inside. Headers, timeouts and
/// cookies of the session's configuration are not known here. Docs/Foundation.md lists the limits.
open class OfflineURLProtocol: URLProtocol {
  /// Gives the cache that answers; nil: requests go their usual way.
  open class var cache: OfflineCache? { OfflineCache.shared }

  /// The load that is under way. Used on the loading queue alone.
  private var load: ProtocolLoad?

  /// Accepts `GET` and `HEAD` of http and https, without a body.
  public override class func canInit(with request: URLRequest) -> Bool {
    guard let scheme = request.url?.scheme?.lowercased(), scheme == "http" || scheme == "https"
    else { return false }
    let method = request.httpMethod ?? "GET"
    return (method == "GET" || method == "HEAD") && request.httpBody == nil
      && request.httpBodyStream == nil && cache != nil
  }

  /// Returns the request as it is: the cache knows what is equal.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Answers what is in memory at once, all else later on the queue that this is called on.
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
              + "OfflineCache.download(for:to:), or a data task",
            underlying: nil))
        return
      }
    #endif
    guard let cache = Self.cache else {
      load.fail(
        URLError(
          .resourceUnavailable, url: request.url,
          cause: "there is no cache any more; set OfflineCache.shared before the session is used",
          underlying: nil))
      return
    }
    do throws(URLError) {
      let asked = try AskedRequest(request, mode: cache.offlineMode)
      if let (bytes, response) = cache.storedNow(asked) {
        load.finish(bytes, response)
      } else {
        load.run(asked, cache)
      }
    } catch {
      load.fail(error)
    }
  }

  /// Tells whether the task still waits for an answer.
  ///
  /// Between `cancel()` of a task and `stopLoading` other work of the queue may run, on Linux even
  /// `startLoading` after both. URLSession reports the cancellation itself then, and crashes there where
  /// a task that has ended is told of anything.
  fileprivate var isWaiting: Bool {
    switch task?.state {
    case .canceling, .completed: false
    default: true
    }
  }

  /// Lets go of a load that has ended by itself, which keeps this object until then: URLSession on Linux
  /// does not call `stopLoading` after it.
  fileprivate func forget(_ ended: ProtocolLoad) {
    if load === ended { load = nil }
  }

  /// Ends the load: nothing is delivered any more.
  public override func stopLoading() {
    #if !canImport(Darwin)
      // A `suspend()` that comes after the `resume()` that followed it, as it may on Linux.
      if task?.state == .running { return }
    #endif
    load?.stop()
    load = nil
  }
}

/// Tells the client of one load what came of it, once.
///
/// All but the fetch happens on the queue that started it.
final class ProtocolLoad: Sendable {
  // Safety: the protocol and its client are used on the loading queue alone.
  private nonisolated(unsafe) let target: OfflineURLProtocol
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

  /// Fetches, and delivers on the loading queue.
  func run(_ asked: AskedRequest, _ cache: OfflineCache) {
    guard let queue else {
      fail(
        URLError(
          .unknown, url: asked.url,
          cause: "URLSession loads on no queue; tell the authors which version of Swift it is",
          underlying: nil))
      return
    }
    let task = Task { [self] in
      do throws(URLError) {
        let (bytes, response) = try await cache.whole(asked)
        queue.run { [self] in finish(bytes, response) }
      } catch {
        queue.run { [self] in fail(error) }
      }
    }
    state.withLock { $0.task = task }
  }

  /// Delivers an answer. On the loading queue.
  func finish(_ bytes: [UInt8], _ response: OfflineURLResponse) {
    guard end(), let client = unsafe target.client else { return }
    unsafe client.urlProtocol(
      target, didReceive: Self.deliverable(response), cacheStoragePolicy: .notAllowed)
    if !bytes.isEmpty { unsafe client.urlProtocol(target, didLoad: Data(bytes)) }
    unsafe client.urlProtocolDidFinishLoading(target)
    unsafe target.forget(self)
  }

  /// Delivers an error. On the loading queue.
  func fail(_ error: URLError) {
    guard end(), let client = unsafe target.client else { return }
    unsafe client.urlProtocol(target, didFailWithError: error)
    unsafe target.forget(self)
  }

  /// Ends it without a word. On the loading queue.
  func stop() {
    let task = state.withLock { state in
      state.isOver = true
      return state.task
    }
    if let task { callOut { task.cancel() } }
  }

  /// Tells whether the client may still be told, and takes care that it is told once.
  private func end() -> Bool {
    guard unsafe target.isWaiting else { return false }
    return state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
  }

  /// On Linux a 401 that names a challenge never completes where there is a completion handler: the
  /// challenge is left out, so that the caller gets the status.
  private static func deliverable(_ response: OfflineURLResponse) -> OfflineURLResponse {
    #if canImport(Darwin)
      return response
    #else
      guard response.statusCode == 401 || response.statusCode == 407 else { return response }
      return response.without(["WWW-Authenticate", "Proxy-Authenticate"])
    #endif
  }
}
