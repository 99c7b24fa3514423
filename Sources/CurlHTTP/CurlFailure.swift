import CCurl
import CCurlLibrary
import HTTPTransports

/// Translates libcurl's codes (libcurl-errors(3)).
enum CurlFailure {
  /// Returns the code for a failure; what breaks after the head breaks the body.
  static func code(of code: CURLcode, hasHead: Bool) -> TransportError.Code {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotResolve
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .cannotConnect
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_PARTIAL_FILE: .truncatedBody
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_SEND_FAIL_REWIND:
      hasHead ? .truncatedBody : .connectionLost
    // libcurl has the first of these for an answer that is no HTTP/1 or later, and the last for
    // transfer codings, as it is never asked to take a content coding off.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_URL_MALFORMAT,
      CURLE_BAD_CONTENT_ENCODING:
      .protocolViolation
    // What libcurl says of a header line beyond its own limit of 100 KiB.
    case CURLE_OUT_OF_MEMORY: hasHead ? .failed : .headTooLarge
    case CURLE_SSL_CERTPROBLEM: .clientCertificate
    case CURLE_SSL_CACERT_BADFILE: .authoritiesFile
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      .certificate
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      .tls
    default: .failed
    }
  }

  /// Returns libcurl's words: those for this failure, without the control characters of what they quote
  /// from servers, else those for the code.
  static func detail(of code: CURLcode, text: String) -> String {
    // Safety: libcurl returns a static string for any code.
    guard !text.isEmpty else { return unsafe String(cString: curl_easy_strerror(code)) }
    let safe = text.unicodeScalars.map { scalar in
      scalar.properties.generalCategory == .control ? "?" : scalar
    }
    return String(String.UnicodeScalarView(safe))
  }
}
