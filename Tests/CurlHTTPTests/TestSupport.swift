import HTTPSemantics
import HTTPTransports
import LoopbackOrigin

@testable import CurlHTTP

/// Gives options for tests: no test waits for these bounds unless something is broken.
let patient = TransportOptions(connectTimeout: .seconds(30), idleTimeout: .seconds(30))

extension LoopbackOrigin {
  /// Returns the normalized URL of a target.
  func address(_ target: String = "/") throws -> NormalizedURL {
    try NormalizedURL(base + target)
  }
}

func makeTransport(bufferBytes: Int = 256 * 1024) throws -> CurlTransport {
  try CurlTransport(CurlSetup(bufferBytes: bufferBytes, proxy: .none))
}

extension TransportBody {
  /// Reads the body to its end.
  func readAll() async throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() { bytes += piece }
    return bytes
  }
}

extension CurlTransport {
  /// Fetches a whole answer.
  func fetch(
    _ url: NormalizedURL, fields: HTTPFields = [], options: TransportOptions = patient
  ) async throws(TransportError) -> (response: TransportResponse, body: String) {
    let response = try await send(HTTPRequest(url: url, fields: fields), options: options)
    return (response, String(decoding: try await response.body.readAll(), as: UTF8.self))
  }

  /// Fetches what must fail, and returns how; nil if it did not.
  func failure(
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
