import CacheSystem
import HTTPAuthentication
import HTTPSemantics
import HTTPTransports

extension Downloader {
  /// Asks the server whether it has a newer version of a downloaded file, without changing the
  /// file.
  ///
  /// - Throws: ``DownloadError`` if the server cannot be asked in time, or the folder cannot be used.
  public func updateState(of request: DownloadRequest) async throws(DownloadError) -> UpdateState {
    let url = request.request.url.string
    let path = request.file
    do throws(DownloadError.Cause) {
      let (record, status) = try await pool.call { [files] () throws(DownloadError.Cause) in
        let place = try DownloadPlace(path, files)
        do throws(SystemError) {
          return (try place.record(.finished), place.ownStatus(place.target))
        } catch { throw .file(error) }
      }
      guard let record, let status, mayServe(request, record) else { return .missing }
      guard record.isOf(status) else { return .changed }
      do throws(TransportError) {
        return try await UpdateCheck(
          transport: transport.sending(request.credential, to: request.request.url),
          options: request.transport
        )
        .state(of: record.head, from: record.answeredBy, request.request)
      } catch {
        throw .transport(error)
      }
    } catch {
      throw DownloadError(error, url: url, path: path)
    }
  }
}
