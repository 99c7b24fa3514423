import CacheSystem

extension CachingClient {
  /// Returns a downloader that uses the transport and the credentials of this client.
  public func makeDownloader(options: DownloaderOptions = DownloaderOptions()) -> Downloader {
    var options = options
    let key = self.options.fingerprintKey
    options.conceal = { key.fingerprint(of: $0) }
    options.recordsLogins = true
    return Downloader(transport: transport, options: options, clock: clock)
  }

  /// Stores a downloaded file as the response to a request, if the rules of HTTP permit it; reads
  /// the whole file. It counts as received when the download began, and does not replace a response
  /// received since. Not after a redirect: the answer of another URL says nothing about this one.
  ///
  /// - Returns: whether it is stored. If the rules do not permit it, the file is not looked at.
  /// - Throws: as `Store.put`; `DownloadError` if the file cannot be read.
  @discardableResult
  public func store(
    contentsOf file: DownloadedFile, for request: HTTPRequest,
    options: FetchOptions = FetchOptions()
  ) async throws -> Bool {
    try await store(
      contentsOf: file, for: request, options: options, permit: permitToStore(request))
  }

  /// Permits storing the answer to a request that is sent after this call, until something
  /// invalidates it.
  package func permitToStore(_ request: HTTPRequest) -> StoringPermit {
    permits.make(key(of: request))
  }

  /// Stores a downloaded file, unless the permit, which was made before the download, was revoked.
  package func store(
    contentsOf file: DownloadedFile, for request: HTTPRequest, options: FetchOptions,
    permit: StoringPermit
  ) async throws -> Bool {
    let record = file.record
    guard record.answeredBy == request.url.string else { return false }
    return try await asyncStore.perform { [self] store throws in
      let length = record.length ?? 0
      guard permit.isValid,
        case .success(let storing) = judge(
          record.head, bodyLength: Int(clamping: length), for: request, options: options,
          received: record.started)
      else { return false }
      // Before there is memory for it.
      try store.checkBodyLength(length)
      let bytes: [UInt8]?
      do throws(SystemError) {
        bytes = try file.bytes()
      } catch {
        throw DownloadError(.file(error), url: record.url, path: file.path)
      }
      guard let bytes, case .success = try keep(bytes, storing, permit) else { return false }
      return true
    }
  }
}
