extension OfflineCache {
  /// Asks the server whether it has a newer version than the stored response, or than the
  /// downloaded file. Neither is changed, even if the server cannot be reached.
  ///
  /// - Parameters:
  ///   - request: The request whose response is stored or downloaded.
  ///   - file: The downloaded file to compare with; `nil` compares with the stored response.
  ///   - timeout: The limit on the whole time, in seconds.
  /// - Throws: The errors of ``data(for:)`` if the server cannot be asked in time, or must not be
  ///   asked.
  public func updateState(
    for request: URLRequest, file: URL? = nil, timeout: TimeInterval = 10
  ) async throws(URLError) -> UpdateState {
    let asked = try networkRequest(request)
    let time = Duration.milliseconds(max(1, Int64(min(max(0, timeout), 86_400) * 1000)))
    var options = TransportOptions(connectTimeout: time, idleTimeout: time, wholeTimeout: time)
    options.allowsInsecureRedirects = self.options.allowsInsecureRedirects
    guard let file else {
      do throws(ClientError) {
        return try await client.updateState(
          of: asked.request, credential: asked.options.credential, options: options)
      } catch {
        throw failure(error, asked)
      }
    }
    var wanted = wanted(asked, try FilePlace(file))
    wanted.transport = options
    do throws(DownloadError) {
      return try await downloader.updateState(of: wanted)
    } catch {
      throw URLError(error, url: asked.url)
    }
  }

  /// Returns whether a URL should be fetched: nothing is stored, or the server has another version,
  /// or gives no information. Returns false if the server refuses the request now; see
  /// ``updateState(for:file:timeout:)``.
  public func needsUpdate(
    _ url: URL, file: URL? = nil, timeout: TimeInterval = 10
  ) async throws(URLError) -> Bool {
    switch try await updateState(for: URLRequest(url: url), file: file, timeout: timeout) {
    case .current, .refused: false
    case .changed, .unknown, .missing: true
    }
  }
}
