struct AskedRequest: Sendable {
  /// The timeouts of a `URLRequest` that does not set one: 60 seconds.
  static let defaultTimeouts = TransportOptions(
    connectTimeout: .seconds(60), idleTimeout: .seconds(60))

  let url: URL
  private(set) var request: HTTPRequest
  var body: RequestBody?
  var options: FetchOptions
  let hasCredentials: Bool

  /// Translates a request.
  ///
  /// - Parameter priority: The place among requests that wait for a connection.
  /// - Throws: `unsupportedURL` for schemes other than http and https, `badURL` for a URL that
  ///   cannot be fetched; with ``InvalidURL`` underneath.
  init(_ asked: URLRequest, mode: OfflineMode, priority: Int = 0) throws(URLError) {
    guard let url = asked.url else {
      throw URLError(.badURL, url: nil, cause: "the request has no URL")
    }
    self.url = url
    let text = url.absoluteString
    do throws(InvalidURL) {
      var request = HTTPRequest(
        method: HTTPMethod(rawValue: asked.httpMethod ?? "GET"), url: try NormalizedURL(text))
      let isForPart = asked.value(forHTTPHeaderField: "Range") != nil
      for (name, value) in asked.allHTTPHeaderFields ?? [:] {
        // The client offers codings and removes them, as URLSession does.
        if !isForPart, name.lowercased() == "accept-encoding", Self.namesCoding(value) { continue }
        request.fields.append(HTTPField(name, value))
      }
      hasCredentials = text.utf8.contains(UInt8(ascii: "@")) && url.user() != nil
      self.request = request
    } catch {
      throw URLError(error, url: url)
    }
    if let data = asked.httpBody {
      body = .bytes([UInt8](data))
    } else if let stream = asked.httpBodyStream {
      let length = asked.value(forHTTPHeaderField: "Content-Length").flatMap { UInt64($0) }
      body = .stream(length: length, StreamSource(stream))
    }
    options = FetchOptions(
      policy: mode == .always ? .offline : CachePolicy(asked.cachePolicy),
      transport: Self.timeouts(asked.timeoutInterval),
      credential: hasCredentials ? Self.credential(url) : nil)
    options.transport?.priority = priority
    options.decidesAtOnce = true
  }

  private static func namesCoding(_ value: String) -> Bool {
    value.lowercased().split(whereSeparator: { ",; ".contains($0) })
      .contains { ["gzip", "x-gzip", "deflate", "br", "zstd"].contains($0) }
  }

  /// Translates a request for a file, which takes a whole content.
  ///
  /// - Throws: `unsupportedURL` for another method than `GET`, because its answer is no file.
  func forFile() throws(URLError) -> AskedRequest {
    guard request.method == .get else {
      throw URLError(
        .unsupportedURL, url: url,
        cause: "\(request.url): a file is downloaded by GET, not by \(request.method.rawValue)")
    }
    var asked = self
    asked.request = request.forWholeContent()
    return asked
  }

  /// Returns the whole seconds of a lifetime, from 0 to about 30 years; 0 for NaN.
  static func lifetime(_ seconds: TimeInterval) -> Int64 {
    // `max` returns its first argument if the other one is NaN.
    Int64(min(max(0, seconds), 1e9))
  }

  /// Whether a stored response may be used if the origin cannot be reached.
  ///
  /// It may not if policy or fields reload or validate, because that asks for the origin explicitly.
  var acceptsFallback: Bool {
    guard body == nil, !RequestDirectives(request.fields).noCache else { return false }
    switch options.policy {
    case .protocolRules, .storedElseLoad: return true
    default: return false
    }
  }

  /// Returns the user and password of a URL, without percent-encoding. They are sent with the first
  /// request (Basic), as users of such URLs expect, or by Digest once the server has asked for it.
  private static func credential(_ url: URL) -> Credential {
    .password(
      user: url.user(percentEncoded: false) ?? "",
      password: url.password(percentEncoded: false) ?? "", persistence: .request,
      sendsBasicUnasked: true)
  }

  /// Returns the timeouts for connecting and for the time without any byte. An interval of 0 or
  /// less, or NaN, means the default; one above a year means no limit.
  private static func timeouts(_ interval: TimeInterval) -> TransportOptions {
    guard interval > 0, interval != 60 else { return defaultTimeouts }
    guard interval < 365 * 86_400 else {
      return TransportOptions(connectTimeout: nil, idleTimeout: nil)
    }
    let time = Duration.milliseconds(max(1, Int64(interval * 1000)))
    return TransportOptions(connectTimeout: time, idleTimeout: time)
  }
}

extension CachePolicy {
  /// Creates the policy for a policy of Foundation; Docs/Foundation.md has the table.
  init(_ policy: URLRequest.CachePolicy) {
    switch policy {
    case .useProtocolCachePolicy: self = .protocolRules
    case .reloadIgnoringLocalCacheData: self = .reload
    case .reloadIgnoringLocalAndRemoteCacheData: self = .reloadFromOrigin
    case .returnCacheDataElseLoad: self = .storedElseLoad
    case .returnCacheDataDontLoad: self = .storedOnly
    case .reloadRevalidatingCacheData: self = .revalidate
    @unknown default: self = .protocolRules
    }
  }
}
