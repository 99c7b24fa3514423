import HTTPTransports
import Testing

struct TransportErrorTests {
  private static let codes: [TransportError.Code] = [
    .invalidRequest, .requestBodyFailed, .cannotResolve, .cannotConnect, .timeout, .tls,
    .certificate,
    .pinMismatch, .clientCertificate, .authoritiesFile, .invalidSetup, .connectionLost,
    .truncatedBody, .headTooLarge, .protocolViolation, .insecureRequest,
    .insecureRedirect, .cancelled,
    .loginCancelled, .failed,
  ]

  @Test func `each error names the URL, what is wrong, and perhaps what to do`() {
    let texts = Self.codes.map { "\(TransportError($0, url: "https://a.test/"))" }
    #expect(Set(texts).count == texts.count && Set(Self.codes).count == texts.count)
    for text in texts {
      #expect(text.hasPrefix("https://a.test/: ") && text.last != "." && !text.hasSuffix("; "))
      #expect(!text.contains("\n") && !text.contains("()"), "\(text)")
    }
    let detailed = TransportError(.timeout, url: "u", detail: "30 s")
    #expect("\(detailed)".hasPrefix("u: a time limit was exceeded (30 s); "))
    #expect("\(TransportError(TransportError.Code(rawValue: "later"), url: "u"))".hasPrefix("u: "))
  }

  @Test func `a pin that cannot be compared without TLS says so`() {
    #expect("\(TransportError(.pinMismatch, url: "http://a/"))".contains("https"))
    #expect("\(TransportError(.pinMismatch, url: "https://a/"))".contains("intercepted"))
  }

  @Test func `a server that cannot be reached is told apart from what the caller has to change`() {
    let unreachable = Self.codes.filter { TransportError($0, url: "u").isUnreachable }
    #expect(
      unreachable == [
        .cannotResolve, .cannotConnect, .timeout, .tls, .connectionLost, .truncatedBody,
        .headTooLarge, .protocolViolation,
      ])
  }

  @Test func `errors are equal by code and URL`() {
    let error = TransportError(.timeout, url: "u", detail: "d")
    #expect(error == TransportError(.timeout, url: "u"))
    #expect(error.hashValue == TransportError(.timeout, url: "u").hashValue)
    #expect(error != TransportError(.timeout, url: "v") && error != TransportError(.tls, url: "u"))
  }
}
