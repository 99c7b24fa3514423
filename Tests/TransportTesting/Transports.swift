package import CurlHTTP
import URLSessionHTTP

/// Gives options for tests: no test waits for these bounds unless something is broken.
package let patient = TransportOptions(connectTimeout: .seconds(30), idleTimeout: .seconds(30))

/// The transports. Tests that take one run with all that can pass them.
///
/// Not tested with URLSession, because of what it does on Linux:
///
/// - interim responses, trailers, version, reason phrase, order of fields: does not report them;
///   trailers crash
/// - heads that are cut, endless or ambiguous: crashes, or accepts them
/// - bytes after the response to a `HEAD`: takes them for the next response
/// - requests that must not be sent twice: sends them again on a lost connection
/// - back-pressure, endless bodies, uploads from streams, early responses, `Expect`: keeps bodies
///   in memory
/// - certificates, pins, proxies: has no such settings; they are refused
/// - a 401 with `Basic`: never ends; here it is an error
/// - codes of TLS errors: reports them as unknown
package enum TransportKind: CaseIterable, Sendable {
  case curl
  case urlSession

  /// Makes a transport without a proxy.
  package func make(bufferBytes: Int = 256 * 1024) throws -> any HTTPTransport {
    switch self {
    case .curl: try makeTransport(bufferBytes: bufferBytes)
    case .urlSession:
      try URLSessionTransport(NetworkSetup(bufferBytes: bufferBytes, proxy: .none))
    }
  }
}

/// Makes a transport with libcurl, without a proxy.
package func makeTransport(bufferBytes: Int = 256 * 1024) throws -> CurlTransport {
  try CurlTransport(NetworkSetup(bufferBytes: bufferBytes, proxy: .none))
}

extension LoopbackOrigin {
  package func address(_ target: String = "/") throws -> NormalizedURL {
    try NormalizedURL(base + target)
  }
}

extension TransportBody {
  /// Reads the body to its end.
  package func readAll() async throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() { bytes += piece }
    return bytes
  }
}

extension HTTPTransport {
  /// Fetches a whole answer.
  package func fetch(
    _ url: NormalizedURL, fields: HTTPFields = [], options: TransportOptions = patient
  ) async throws(TransportError) -> (response: TransportResponse, body: String) {
    let response = try await send(HTTPRequest(url: url, fields: fields), options: options)
    return (response, String(decoding: try await response.body.readAll(), as: UTF8.self))
  }

  /// Fetches what must fail, and returns how; nil if it did not.
  package func failure(
    _ url: NormalizedURL, method: HTTPMethod = .get, fields: HTTPFields = [],
    options: TransportOptions = patient
  ) async -> TransportError? {
    do {
      let request = HTTPRequest(method: method, url: url, fields: fields)
      _ = try await send(request, options: options).body.readAll()
      return nil
    } catch {
      return error
    }
  }
}
