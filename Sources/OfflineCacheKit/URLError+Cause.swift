import CacheSystem

extension URLError {
  /// Creates an error that names URL and cause, with the typed error underneath if there is one.
  init(_ code: URLError.Code, url: URL?, cause: String, underlying: (any Error)? = nil) {
    var info: [String: Any] = [NSLocalizedDescriptionKey: cause]
    if let underlying { info[NSUnderlyingErrorKey] = underlying }
    if let url, let shown = Self.withoutCredentials(url) {
      info[NSURLErrorFailingURLErrorKey] = shown
    }
    self.init(code, userInfo: info)
  }

  init(_ error: InvalidURL, url: URL) {
    let isOther = error.code == .unsupportedScheme || error.code == .noScheme
    self.init(
      isOther ? .unsupportedURL : .badURL, url: url, cause: error.description, underlying: error)
  }

  /// Creates the error for a failed fetch.
  ///
  /// - Parameter isOffline: Whether the network was not asked because of the offline mode.
  init(_ error: ClientError, url: URL?, isOffline: Bool) {
    self.init(
      Self.code(of: error.cause, isOffline: isOffline), url: url, cause: error.description,
      underlying: error)
  }

  private static func code(of cause: ClientError.Cause, isOffline: Bool) -> URLError.Code {
    switch cause {
    case .notStored: isOffline ? .notConnectedToInternet : .resourceUnavailable
    case .transport(let error): code(of: error.code)
    case .store: .cannotOpenFile
    case .coding: .cannotDecodeContentData
    case .tooManyRedirects: .httpTooManyRedirects
    case .tooLarge: .dataLengthExceedsMaximum
    }
  }

  private static func code(of code: TransportError.Code) -> URLError.Code {
    switch code {
    case .invalidRequest: .badURL
    case .requestBodyFailed: .requestBodyStreamExhausted
    case .cannotResolve: .cannotFindHost
    case .cannotConnect: .cannotConnectToHost
    case .timeout: .timedOut
    case .tls: .secureConnectionFailed
    case .certificate, .pinMismatch: .serverCertificateUntrusted
    case .clientCertificate: .clientCertificateRejected
    case .authoritiesFile: .cannotOpenFile
    case .connectionLost, .truncatedBody: .networkConnectionLost
    case .headTooLarge: .dataLengthExceedsMaximum
    case .protocolViolation: .badServerResponse
    case .unusableRedirect: .redirectToNonExistentLocation
    case .insecureRequest, .insecureRedirect: .appTransportSecurityRequiresSecureConnection
    case .cancelled: .cancelled
    case .loginCancelled: .userCancelledAuthentication
    default: .unknown
    }
  }

  /// Creates the error for a failed download. A problem with a file has the `SystemError`
  /// underneath.
  init(_ error: DownloadError, url: URL?) {
    let code: URLError.Code
    var underlying: any Error = error
    switch error.cause {
    case .cancelled: code = .cancelled
    case .transport(let cause): code = Self.code(of: cause.code)
    case .status: code = .badServerResponse
    case .tooManyRedirects: code = .httpTooManyRedirects
    case .unusableRedirect: code = .redirectToNonExistentLocation
    case .method: code = .unsupportedURL
    case .coding: code = .cannotDecodeContentData
    case .wrongLength: code = .networkConnectionLost
    case .wrongDigest: code = .cannotDecodeRawData
    case .disturbed: code = .cannotMoveFile
    case .invalidPath: code = .cannotCreateFile
    case .isDirectory: code = .fileIsDirectory
    case .fileExists, .othersFile, .notAFile: code = .cannotCreateFile
    case .file(let cause):
      underlying = cause
      let isPlace =
        cause == .notFound || cause.isPermission || cause.isWrongKind || cause.isReadOnly
      code = isPlace ? .cannotCreateFile : .cannotWriteToFile
    }
    self.init(code, url: url, cause: error.description, underlying: underlying)
  }

  /// What is wrong with a failed fetch; `nil` for other errors.
  var clientCause: ClientError.Cause? { (userInfo[NSUnderlyingErrorKey] as? ClientError)?.cause }

  /// What is wrong with a failed download; `nil` for other errors.
  var downloadCause: DownloadError.Cause? {
    (userInfo[NSUnderlyingErrorKey] as? DownloadError)?.cause
  }

  private static func withoutCredentials(_ url: URL) -> URL? {
    // A relative URL also shows its base.
    guard [url, url.baseURL].contains(where: { $0?.absoluteString.contains("@") == true }) else {
      return url
    }
    // What is before the "@" may be a password if the URL is malformed, as in "http:/user:password@host/".
    guard url.host() != nil else { return nil }
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
    parts.user = nil
    parts.password = nil
    return parts.url
  }
}
