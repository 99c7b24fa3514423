import CacheSystem

// Sending files and forms. Stored responses that a successful request makes invalid are removed.
extension OfflineCache {
  /// Sends a file and returns the whole response; see ``data(for:)``.
  ///
  /// The file is read while it is sent, with its length in `Content-Length`. The method is `POST`
  /// if the request has `GET`. `Content-Type` is set by the caller.
  ///
  /// - Parameters:
  ///   - request: The URL and the header fields.
  ///   - file: The file to send.
  ///   - onProgress: Called after each piece that was sent; must not block.
  /// - Throws: The errors of ``data(for:)``; `fileDoesNotExist`, `fileIsDirectory`,
  ///   `noPermissionsToReadFile` and `cannotOpenFile` before anything is sent;
  ///   `requestBodyStreamExhausted` for a file that changes while it is sent. With `UploadError` or
  ///   `ClientError` underneath.
  @discardableResult
  public func upload(
    for request: URLRequest, fromFile file: URL,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    let path = file.path
    return try await upload(request, onProgress) { () throws(UploadError) in
      try UploadBody(file: path)
    }
  }

  /// Sends a form with files and returns the whole response; see
  /// ``upload(for:fromFile:onProgress:)``.
  @discardableResult
  public func upload(
    for request: URLRequest, form: MultipartForm,
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    try await upload(request, onProgress) { () throws(UploadError) in try form.body() }
  }

  /// Sends a form of names and values and returns the whole response; see ``data(for:)``.
  @discardableResult
  public func upload(
    for request: URLRequest, form: URLEncodedForm
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    try await upload(request, nil) { () throws(UploadError) in form.body }
  }

  private func upload(
    _ request: URLRequest, _ onProgress: (@Sendable (UploadProgress) -> Void)?,
    _ make: () throws(UploadError) -> UploadBody
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    let body: UploadBody
    do throws(UploadError) {
      body = try make()
    } catch {
      throw URLError(error, url: request.url)
    }
    var request = request
    if request.httpMethod == "GET" { request.httpMethod = "POST" }
    if let type = body.contentType { request.setValue(type, forHTTPHeaderField: "Content-Type") }
    var asked = try AskedRequest(request, mode: offlineMode)
    asked.body = body.requestBody(onProgress: onProgress)
    return try await data(asked)
  }
}

extension URLError {
  init(_ error: UploadError, url: URL?) {
    let code: URLError.Code =
      switch error.cause {
      case .unreadable(.notFound): .fileDoesNotExist
      case .unreadable(let system) where system.isPermission: .noPermissionsToReadFile
      case .notAFile: .fileIsDirectory
      default: .cannotOpenFile
      }
    self.init(code, url: url, cause: error.description, underlying: error)
  }
}
