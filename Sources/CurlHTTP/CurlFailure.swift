import CCurl
import CCurlLibrary
import HTTPTransports

/// Translates libcurl's codes (libcurl-errors(3)).
enum CurlFailure {
  /// Returns the error code for a failure. After the head, a failure affects the body.
  static func code(of code: CURLcode, hasHead: Bool) -> TransportError.Code {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotResolve
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .cannotConnect
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_PARTIAL_FILE: .truncatedBody
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_SEND_FAIL_REWIND:
      hasHead ? .truncatedBody : .connectionLost
    // libcurl returns the first of these for a response that is not HTTP/1 or later, and the last
    // for transfer codings, because it is never asked to decode content codings.
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_URL_MALFORMAT,
      CURLE_BAD_CONTENT_ENCODING:
      .protocolViolation
    // libcurl returns this for a header line beyond its own limit of 100 KiB.
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

  /// Returns the text for the last failure of a handle. If no connection could be made, it ends with the
  /// reason of the system, such as "Connection refused" or "Too many open files".
  static func detail(of code: CURLcode, on handle: EasyHandle) -> String {
    let text = detail(of: code, text: handle.lastErrorText)
    guard code == CURLE_COULDNT_CONNECT, let reason = handle.systemError else { return text }
    return "\(text): \(reason)"
  }

  /// Returns libcurl's text for this failure, without the control characters that it may quote from
  /// servers, and without the log-in of a proxy's URL; or its text for the code.
  static func detail(of code: CURLcode, text: String) -> String {
    // Safety: libcurl returns a static string for any code.
    guard !text.isEmpty else { return unsafe String(cString: curl_easy_strerror(code)) }
    let safe = withoutLogin(text).unicodeScalars.map { scalar in
      scalar.properties.generalCategory == .control ? "?" : scalar
    }
    return String(String.UnicodeScalarView(safe))
  }

  /// Removes the log-in of a URL: libcurl quotes one that it cannot parse, with or without a scheme, and
  /// the log-in may have any character.
  private static func withoutLogin(_ text: String) -> String {
    if let quote = text.firstIndex(of: "'") {
      let start = text.index(after: quote)
      return text[..<start] + NetworkSetup.Proxy.withoutLogin(text[start...])
    }
    guard let scheme = text.firstRange(of: "://") else { return text }
    return text[..<scheme.upperBound] + NetworkSetup.Proxy.withoutLogin(text[scheme.upperBound...])
  }
}
