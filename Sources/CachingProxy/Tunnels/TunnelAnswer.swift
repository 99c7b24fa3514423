import CacheSystem
import HTTPSemantics

/// The answers to `CONNECT`, as bytes.
enum TunnelAnswer {
  /// The `Cache-Status` of a tunnel: no cache can answer what it does not read.
  static let cacheStatus = CacheStatus(cacheName: OwnAnswers.cacheName, forward: .method)

  /// The `Cache-Status` of an answer to a request for another protocol.
  static let bypass = CacheStatus(cacheName: OwnAnswers.cacheName, forward: .bypass)

  /// Returns the head after which the tunnel begins. It has no length (RFC 9110, section 9.3.6).
  static func established(via: String) -> [UInt8] {
    Array(
      "HTTP/1.1 200 Connection established\r\nVia: \(via)\r\nCache-Status: \(cacheStatus)\r\n\r\n"
        .utf8)
  }

  /// Returns an answer of the proxy that ends the connection.
  static func bytes(of answer: ProxyAnswer, via: String, clock: any WallClock) -> [UInt8] {
    guard case .bytes(let body) = answer.body else { return [] }
    let lines = AnswerLines.lines(of: answer, via: via, closes: true) {
      HTTPDate(seconds: clock.now() / 1_000_000_000)
    }
    return EarlyAnswer(length: UInt64(body.count), isHTTP11: true, isRequestChunked: false)
      .head(status: answer.head.status, lines: lines) + body
  }
}
