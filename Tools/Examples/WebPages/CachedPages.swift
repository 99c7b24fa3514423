public import OfflineCacheKit
public import WebKit

/// Answers the requests of a `WKWebView` for the pages of one server from an `OfflineCache`.
///
/// The web view loads `cached://example.org/news` in place of `https://example.org/news`; relative
/// links on the page then lead here, too. Only `GET` and `HEAD`, and only this server.
@MainActor
public final class CachedPages: NSObject, WKURLSchemeHandler {
  /// The scheme to register the handler for.
  public nonisolated static let scheme = "cached"

  /// The largest number of bytes that the web view is given at once.
  private static let pieceBytes = 64 << 10

  private let cache: OfflineCache
  private let server: URL
  /// The loads that run. WebKit calls `stop` only for a load that has not ended.
  private var loads: [ObjectIdentifier: Task<Void, Never>] = [:]

  /// - Parameter server: Any URL of the server: its scheme, host and port are used.
  public init(cache: OfflineCache, server: URL) {
    self.cache = cache
    self.server = server
  }

  /// Returns the URL that the web view loads for a page.
  public nonisolated static func url(of page: URL) -> URL? {
    var parts = URLComponents(url: page, resolvingAgainstBaseURL: true)
    parts?.scheme = scheme
    return parts?.url
  }

  /// Starts to answer a request.
  public func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask) {
    let asked = urlSchemeTask.request
    let id = ObjectIdentifier(urlSchemeTask)
    // The closure keeps the task alive, so the identifier stays its own until the load has ended.
    loads[id] = Task { [weak webView] in
      await answer(urlSchemeTask, asked, in: webView)
      loads[id] = nil
    }
  }

  /// Stops answering. From now on, a call of a method of the task would raise an exception.
  public func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask) {
    loads.removeValue(forKey: ObjectIdentifier(urlSchemeTask))?.cancel()
  }

  /// Answers a request, piece by piece. `stop` runs on the main actor as this does, and cancels, so
  /// each call of the task follows a check without an `await` between them.
  private func answer(
    _ task: any WKURLSchemeTask, _ asked: URLRequest, in webView: WKWebView?
  ) async {
    do throws(URLError) {
      let request = try request(for: asked)
      let (bytes, response) = try await open(request)
      if Task.isCancelled { return }
      if let moved = try redirect(request, response), asked.mainDocumentURL == asked.url {
        // The page gets its new address, for its relative links. WebKit then stops this load.
        webView?.load(URLRequest(url: moved))
        return
      }
      task.didReceive(try head(response, for: asked))
      var piece = Data(capacity: Self.pieceBytes)
      for try await byte in bytes {
        piece.append(byte)
        guard piece.count == Self.pieceBytes else { continue }
        if Task.isCancelled { return }
        task.didReceive(piece)
        piece.removeAll(keepingCapacity: true)
      }
      if Task.isCancelled { return }
      if !piece.isEmpty { task.didReceive(piece) }
      task.didFinish()
    } catch {
      if Task.isCancelled { return }
      task.didFailWithError(error)
    }
  }

  /// Fetches through the cache. A reload asks for the server; if it cannot be reached, the stored
  /// page is better than none.
  private func open(
    _ request: URLRequest
  ) async throws(URLError) -> (OfflineCache.AsyncBytes, OfflineURLResponse) {
    do throws(URLError) {
      return try await cache.bytes(for: request)
    } catch {
      let unreachable: Set<URLError.Code> = [
        .notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .timedOut,
        .networkConnectionLost,
      ]
      guard unreachable.contains(error.code), !Task.isCancelled else { throw error }
      var stored = request
      // As without a reload: the mode of the cache says which stored pages are used now.
      stored.cachePolicy = .useProtocolCachePolicy
      guard let answer = try? await cache.bytes(for: stored) else { throw error }
      return answer
    }
  }
}

// Requests and responses, translated.
extension CachedPages {
  /// Returns the request for the server, with the fields of the page's request (`Range`, `Accept`)
  /// but those that name the scheme of this handler, and the coding, which the cache chooses.
  private func request(for asked: URLRequest) throws(URLError) -> URLRequest {
    let method = asked.httpMethod ?? "GET"
    guard method == "GET" || method == "HEAD", let url = asked.url, isOfServer(url),
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { throw URLError(.unsupportedURL) }
    parts.scheme = server.scheme
    (parts.user, parts.password) = (nil, nil)
    guard let target = parts.url else { throw URLError(.badURL) }
    var request = URLRequest(url: target, cachePolicy: asked.cachePolicy)
    request.httpMethod = method
    for (name, value) in asked.allHTTPHeaderFields ?? [:]
    where !["origin", "referer", "accept-encoding"].contains(name.lowercased()) {
      request.setValue(value, forHTTPHeaderField: name)
    }
    return request
  }

  private func isOfServer(_ url: URL) -> Bool {
    url.host()?.lowercased() == server.host()?.lowercased() && url.port == server.port
  }

  /// Returns the new URL for the web view if redirects were followed.
  ///
  /// - Throws: `noPermissionsToReadFile` if they lead to another server, whose pages must not run
  ///   with the rights of this one.
  private func redirect(
    _ request: URLRequest, _ response: OfflineURLResponse
  ) throws(URLError) -> URL? {
    guard let url = response.url, url != request.url else { return nil }
    guard isOfServer(url), url.scheme == server.scheme else {
      throw URLError(.noPermissionsToReadFile)
    }
    return Self.url(of: url)
  }

  /// Returns status and fields, for the URL that the web view knows. `Cache-Status` tells scripts of
  /// the page where the answer came from.
  private func head(
    _ response: OfflineURLResponse, for asked: URLRequest
  ) throws(URLError) -> URLResponse {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields {
      fields[name] = value
    }
    fields["Cache-Status"] = response.metadata?.cacheStatus
    guard let url = asked.url,
      let head = HTTPURLResponse(
        url: url, statusCode: response.statusCode, httpVersion: "HTTP/1.1", headerFields: fields)
    else { throw URLError(.badServerResponse) }
    return head
  }
}
