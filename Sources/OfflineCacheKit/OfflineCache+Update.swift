public import CacheClient
public import Foundation
import HTTPTransports

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension OfflineCache {
  /// Asks the server whether it has something newer than what is stored, or than the file that it was
  /// downloaded to. What there is stays as it is, also where the server is away.
  ///
  /// - Parameters:
  ///   - request: The request whose answer is stored or downloaded.
  ///   - file: The downloaded file to compare with; `nil` compares with the stored response.
  ///   - timeout: The most seconds that all of it may take.
  /// - Throws: as ``data(for:)`` if the server cannot be asked in time, or is not to be asked.
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
    var wanted = DownloadRequest(asked.request, to: try FilePlace(file).path)
    wanted.transport = options
    wanted.credential = asked.options.credential
    do throws(DownloadError) {
      return try await downloader.updateState(of: wanted)
    } catch {
      throw URLError(error, url: asked.url)
    }
  }

  /// Tells whether there is reason to fetch a URL: nothing is stored, or the server has something else,
  /// or does not tell. A server that refuses it now gives no reason; see ``updateState(for:file:timeout:)``.
  public func needsUpdate(
    _ url: URL, file: URL? = nil, timeout: TimeInterval = 10
  ) async throws(URLError) -> Bool {
    switch try await updateState(for: URLRequest(url: url), file: file, timeout: timeout) {
    case .current, .refused: false
    case .changed, .unknown, .missing: true
    }
  }
}
