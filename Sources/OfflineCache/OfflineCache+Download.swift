import CachingClient
public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension OfflineCache {
  /// Answers a request into a file, with bounded memory; see ``data(for:)``.
  ///
  /// The bytes go to a hidden file beside it, which takes the name in one rename at the end: a failure
  /// or a cancellation leaves what was there before. A file that is there is replaced, a directory is
  /// not. What may be stored is stored, too, as long as it fits.
  ///
  /// - Throws: as ``data(for:)``; `badServerResponse` for a status other than 200 to 299, as an error
  ///   page must not replace a file; `cannotCreateFile`, `cannotWriteToFile` and `cannotMoveFile` with
  ///   the path and `SystemError` underneath; `fileIsDirectory`.
  @discardableResult
  public func download(
    for request: URLRequest, to file: URL
  ) async throws(URLError) -> OfflineURLResponse {
    let asked = try AskedRequest(request, mode: offlineMode)
    let target = try FileTarget(file)
    let (body, response) = try await answering(asked) { response in response.body }
    guard (200...299).contains(response.statusCode) else {
      body.cancel()
      throw URLError(
        .badServerResponse, url: asked.url,
        cause: "\(response.url?.absoluteString ?? ""): the server answers "
          + "\(response.statusCode); nothing is written to \(file.path)",
        underlying: nil)
    }
    let pieces = BodyPieces(body: body, url: asked.url)
    do throws(URLError) {
      while let piece = try await pieces.next() { try await target.write(piece) }
      try await target.finish()
    } catch {
      body.cancel()
      await target.abandon()
      throw error
    }
    return response
  }

  /// Fetches a URL with `GET` into a file; see ``download(for:to:)``.
  @discardableResult
  public func download(
    from url: URL, to file: URL
  ) async throws(URLError) -> OfflineURLResponse {
    try await download(for: URLRequest(url: url), to: file)
  }
}
