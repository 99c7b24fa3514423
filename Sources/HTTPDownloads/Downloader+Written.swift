import CacheFormat
package import CacheSystem
package import HTTPSemantics

// Files that other code writes, and that later calls treat as downloads.
extension Downloader {
  /// Looks for the file of a request, without a request to the server, and prolongs a sliding
  /// expiry.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  package func look(for request: DownloadRequest) async throws(DownloadError) -> KnownFile {
    try await DownloadRun(downloader: self, download: Download(request)).look()
  }

  /// Creates the hidden file for a file that is written in another way than by a download, and removes
  /// that of a process that was killed.
  package static func replacement(at path: [UInt8]) throws(SystemError) -> ReplacementFile {
    let place = try? DownloadPlace(String(decoding: path, as: UTF8.self), RealFileSystem())
    place?.removeLeftovers()
    return try ReplacementFile(at: path, through: place?.new.bytes)
  }

  /// Writes the record of a complete file that is about to take its name. Call it before the
  /// rename.
  ///
  /// - Parameters:
  ///   - isUserKnown: Whether nobody can have logged in or out since the request was made.
  ///   - written: The file's length and times.
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  package func note(
    _ request: DownloadRequest, answeredBy url: NormalizedURL, head: HTTPResponseHead,
    source: DownloadedFile.Source, isUserKnown: Bool, written: WrittenFile
  ) async throws(DownloadError) -> DownloadedFile {
    let run = DownloadRun(downloader: self, download: Download(request))
    let place = try await run.opened()
    defer { place.close() }
    let now = now
    let record = try await run.perform { () throws(SystemError) in
      var record = DownloadRecord(
        file: place.targetName, url: request.request.url.string, answeredBy: url.string,
        head: head, started: Timestamp(nanoseconds: written.began))
      (record.ended, record.length) = (now, written.length)
      record.selection = run.downloader.selection(of: request, by: head)
      if !isUserKnown { record.selection.user = DownloadSelection.ofNoRequest }
      record.modified = written.modified
      record.replaced = try place.ownTime(of: record.url)
      let stated = try place.statedExpiry(for: record.url)
      record.expire(
        request.expiry ?? stated, from: min(now, Timestamp(nanoseconds: written.confirmed)))
      try place.save(record, .finished)
      return record
    }
    return DownloadedFile(
      path: request.file, record: record, source: source,
      receivedBytes: source == .network ? written.length : 0, resumedBytes: 0)
  }
}

extension Downloader {
  /// Removes a file and its record, unless they were replaced or changed since.
  package func remove(_ file: DownloadedFile) async {
    await pool.call { [files] in
      guard let place = try? DownloadPlace(file.path, files) else { return }
      if let status = place.ownStatus(place.target), file.record.isOf(status) {
        place.remove(place.target)
      }
      if (try? place.record(.finished)) == file.record { place.removeRecord(.finished) }
    }
  }

  /// Removes the bytes of an interrupted download whose file was written in another way, unless the
  /// download is in progress.
  package func removeUnfinished(_ request: DownloadRequest) async {
    let (path, url) = (request.file, request.request.url.string)
    await pool.call { [files] in
      // Errors are ignored: the next call finds what is left.
      guard let place = try? DownloadPlace(path, files), (try? place.begun(for: url)) != nil else {
        return
      }
      _ = try? PartFile.withLock(place) { part throws(SystemError) in try part.remove(of: url) }
    }
  }
}

package enum KnownFile: Sendable {
  /// It is there, unchanged, and has not expired.
  case unexpired(DownloadedFile)
  /// It is there, unchanged, and has expired or has no expiry. The expiry is that of the last call for
  /// the URL.
  case expired(DownloadExpiry?)
  /// It is not there, was changed, or is another user's. The expiry is that of the last call for the
  /// URL.
  case unknown(DownloadExpiry?)
}

/// A file that was written completely. Times are in nanoseconds since 1970.
package struct WrittenFile: Sendable {
  package var length: UInt64
  package var modified: Int64
  package var began: Int64
  /// The time when the server sent or last confirmed the content.
  package var confirmed: Int64

  package init(length: UInt64, modified: Int64, began: Int64, confirmed: Int64) {
    (self.length, self.modified) = (length, modified)
    (self.began, self.confirmed) = (began, confirmed)
  }
}
