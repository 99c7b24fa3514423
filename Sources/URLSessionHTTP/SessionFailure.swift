import Foundation
import HTTPTransports

enum SessionFailure {
  static func error(_ error: any Error, _ transfer: Transfer) -> TransportError {
    guard let error = error as? URLError else {
      return transfer.error(.failed, error.localizedDescription)
    }
    return transfer.error(
      code(of: error.code, hasHead: transfer.hasHead), error.localizedDescription)
  }

  /// Returns the code for a failure. After the head, a failure affects the body.
  static func code(of code: URLError.Code, hasHead: Bool) -> TransportError.Code {
    switch code {
    // The system's own: after a cancellation by the reader, nobody waits for the error.
    case .cancelled: hasHead ? .truncatedBody : .connectionLost
    case .appTransportSecurityRequiresSecureConnection: .insecureRequest
    case .badURL, .unsupportedURL, .dataLengthExceedsMaximum: .invalidRequest
    case .cannotFindHost, .dnsLookupFailed: .cannotResolve
    case .cannotConnectToHost, .notConnectedToInternet, .internationalRoamingOff,
      .callIsActive, .dataNotAllowed:
      .cannotConnect
    case .timedOut: .timeout
    case .networkConnectionLost: hasHead ? .truncatedBody : .connectionLost
    case .badServerResponse, .cannotParseResponse, .zeroByteResource, .cannotDecodeRawData,
      .cannotDecodeContentData, .httpTooManyRedirects, .redirectToNonExistentLocation:
      .protocolViolation
    case .secureConnectionFailed: .tls
    case .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
      .certificate
    case .clientCertificateRejected, .clientCertificateRequired: .clientCertificate
    case .requestBodyStreamExhausted: .requestBodyFailed
    // On Linux, the code for all that libcurl reports and Foundation does not know.
    case .unknown: hasHead ? .truncatedBody : .failed
    default: .failed
    }
  }
}
