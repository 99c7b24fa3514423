import CacheClient
import CacheFormat
import CacheSystem
import Foundation
import HTTPCaching
import HTTPSemantics
import MessageDigests

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Writing responses to files, from the store or from the network.
extension OfflineCache {
  /// Answers a request and writes the content to the file.
  func written(
    _ wanted: DownloadRequest, _ asked: AskedRequest, _ place: FilePlace
  ) async throws(URLError) -> OfflineURLResponse {
    let began = options.clock.now()
    let target = FileTarget(place)
    let made = wanted.digest.map { MessageDigest($0.algorithm) }
    let (answer, response) = try await answering(asked) { response in response }
    // As in a download: other successes, such as 204, have no content that a file could replace.
    guard [200, 203].contains(response.statusCode) else {
      answer.body.cancel()
      throw URLError(
        .badServerResponse, url: asked.url,
        cause: "\(response.url?.absoluteString ?? ""): the server answers "
          + "\(response.statusCode); nothing is written to \(place.path)")
    }
    let pieces = BodyPieces(body: answer.body, url: asked.url)
    do throws(URLError) {
      while let piece = try await pieces.next() {
        made?.update(piece)
        try await target.write(piece)
      }
      try check(made?.finish(), wanted, asked)
      let status = try await target.complete()
      let file = await note(
        answer, to: asked, for: wanted,
        written: WrittenFile(
          length: status.length, modified: status.modified, began: began,
          confirmed: client.lastConfirmed(answer)?.nanoseconds ?? .max))
      try await target.moveIntoPlace()
      await downloader.removeUnfinished(wanted)
      return file.map { response.written(to: $0, answer.head) } ?? response
    } catch {
      answer.body.cancel()
      await target.abandon()
      throw error
    }
  }

  /// Compares the digest of the content with the caller's.
  private func check(
    _ bytes: [UInt8]?, _ wanted: DownloadRequest, _ asked: AskedRequest
  ) throws(URLError) {
    guard let digest = wanted.digest, let bytes,
      let actual = StatedDigest(digest.algorithm, bytes), actual != digest
    else { return }
    throw URLError(
      DownloadError(
        .wrongDigest(expected: digest, actual: actual), url: asked.request.url.string,
        path: wanted.file), url: asked.url)
  }

  /// Records a written file, so that it can expire and be compared with the server's version.
  /// Returns `nil` for content that is not a whole response of a server.
  private func note(
    _ answer: ClientResponse, to asked: AskedRequest, for wanted: DownloadRequest,
    written: WrittenFile
  ) async -> DownloadedFile? {
    guard answer.source != .substitute, answer.head.status == 200, asked.isPlainGet else {
      return nil
    }
    // Errors are ignored: without a record the file exists and is downloaded again.
    return try? await downloader.note(
      wanted, answeredBy: answer.url, head: answer.head,
      source: answer.source == .network ? .network : .store,
      isUserKnown: client.loginState == wanted.loginState, written: written)
  }
}
