import CacheClient
import Foundation
import HTTPCaching
import HTTPSemantics
import HTTPTransports

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Holds a `URLRequest` as the client understands it.
struct AskedRequest: Sendable {
  /// The timeouts of a `URLRequest` that states none: 60 seconds.
  static let defaultTimeouts = TransportOptions(
    connectTimeout: .seconds(60), idleTimeout: .seconds(60))

  /// Gives the caller's URL.
  let url: URL
  let request: HTTPRequest
  var body: RequestBody?
  var options: FetchOptions
  /// Tells whether the URL had a user or password in it.
  let hasCredentials: Bool

  /// Translates a request.
  ///
  /// - Parameter priority: The place among requests that wait for a connection.
  /// - Throws: `unsupportedURL` for schemes other than http and https, `badURL` for what is no URL that
  ///   can be fetched; with ``InvalidURL`` underneath.
  init(_ asked: URLRequest, mode: OfflineMode, priority: Int = 0) throws(URLError) {
    guard let url = asked.url else {
      throw URLError(.badURL, url: nil, cause: "the request has no URL", underlying: nil)
    }
    self.url = url
    let text = url.absoluteString
    do throws(InvalidURL) {
      var request = HTTPRequest(
        method: HTTPMethod(rawValue: asked.httpMethod ?? "GET"), url: try NormalizedURL(text))
      for (name, value) in asked.allHTTPHeaderFields ?? [:] {
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
      body = .stream(length: nil, StreamSource(stream))
    }
    options = FetchOptions(
      policy: mode == .always ? .offline : CachePolicy(asked.cachePolicy),
      transport: Self.timeouts(asked.timeoutInterval),
      credential: hasCredentials ? Self.credential(url) : nil)
    options.transport?.priority = priority
    options.decidesAtOnce = true
  }

  /// Returns the whole seconds of a lifetime, from 0 to about 30 years; 0 for what is no number.
  static func lifetime(_ seconds: TimeInterval) -> Int64 {
    // `max` returns its first argument where the other is no number.
    Int64(min(max(0, seconds), 1e9))
  }

  /// Tells whether it is a `GET` without a body.
  var isPlainGet: Bool { request.method == .get && body == nil }

  /// Tells whether a stored response may stand in for the origin when that cannot be reached.
  ///
  /// Who reloads or validates wants the origin by name.
  var acceptsFallback: Bool {
    guard body == nil else { return false }
    switch options.policy {
    case .protocolRules, .storedElseLoad: return true
    default: return false
    }
  }

  /// What stands before the `@`, without its percent-encoding. It is sent at once, as people expect of
  /// such a URL, and by Digest once the server has said that it wants that.
  private static func credential(_ url: URL) -> Credential {
    .password(
      user: url.user(percentEncoded: false) ?? "",
      password: url.password(percentEncoded: false) ?? "", persistence: .request,
      sendsBasicUnasked: true)
  }

  /// The time without any byte, which is also that for making a connection; 0 or less, and what is no
  /// number, is the default, a time beyond a year is no bound.
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
  /// Translates Foundation's policy; Docs/Foundation.md has the table.
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
