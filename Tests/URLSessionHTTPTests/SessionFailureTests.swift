import Foundation
import HTTPTransports
import Testing

@testable import URLSessionHTTP

@Suite struct SessionFailureTests {
  @Test(arguments: [
    (URLError.Code.cannotFindHost, TransportError.Code.cannotResolve),
    (.dnsLookupFailed, .cannotResolve), (.cannotConnectToHost, .cannotConnect),
    (.notConnectedToInternet, .cannotConnect), (.dataNotAllowed, .cannotConnect),
    (.timedOut, .timeout), (.networkConnectionLost, .connectionLost),
    (.secureConnectionFailed, .tls), (.serverCertificateUntrusted, .certificate),
    (.serverCertificateHasBadDate, .certificate), (.clientCertificateRequired, .clientCertificate),
    (.badServerResponse, .protocolViolation), (.cannotDecodeContentData, .protocolViolation),
    (.dataLengthExceedsMaximum, .invalidRequest), (.cancelled, .connectionLost),
    (.unknown, .failed),
    (.appTransportSecurityRequiresSecureConnection, .insecureRequest),
  ])
  func `an error before the head has its code`(
    code: URLError.Code, is expected: TransportError.Code
  ) {
    #expect(SessionFailure.code(of: code, hasHead: false) == expected)
  }

  @Test func `what ends a connection after the head cuts the body`() {
    for code in [URLError.Code.networkConnectionLost, .unknown] {
      #expect(SessionFailure.code(of: code, hasHead: true) == .truncatedBody)
    }
    #expect(SessionFailure.code(of: .timedOut, hasHead: true) == .timeout)
  }
}
