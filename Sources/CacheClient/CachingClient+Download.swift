import CacheStore
import CacheSystem
public import HTTPDownloads
public import HTTPSemantics

extension CachingClient {
  /// Returns a downloader that uses the transport and the credentials of this client.
  public func makeDownloader(options: DownloaderOptions = DownloaderOptions()) -> Downloader {
    Downloader(transport: transport, options: options, clock: clock)
  }

  /// Stores a downloaded file as the response to a request, if the rules of HTTP permit it; reads
  /// the whole file. Not after a redirect: the answer of another URL says nothing about this one.
  ///
  /// - Returns: whether it is stored.
  /// - Throws: as `Store.put`; `DownloadError` if the file cannot be read.
  @discardableResult
  public func store(
    contentsOf file: DownloadedFile, for request: HTTPRequest,
    options: FetchOptions = FetchOptions()
  ) async throws -> Bool {
    guard file.record.answeredBy == request.url.string else { return false }
    return try await asyncStore.perform { [self] _ throws in
      let files = RealFileSystem()
      let bytes: [UInt8]
      do throws(SystemError) {
        let opened = try files.open(userPath: file.path, [.read])
        let status = try files.status(of: opened.raw)
        guard status.isOwnFile, status.modified == file.record.modified else { return false }
        bytes = try files.readBytes(opened, count: Int(file.record.length ?? 0), at: 0)
      } catch {
        throw DownloadError(.file(error), url: file.record.url, path: file.path)
      }
      guard UInt64(bytes.count) == file.record.length,
        case .success = try store(
          bytes, file.record.head, for: request, options: options)
      else { return false }
      return true
    }
  }
}
