import CacheFormat
import CacheSystem
package import HTTPSemantics

// Files that others write, and that are downloads to those who ask for them later.
extension Downloader {
  /// Looks for the file of a request, without asking anybody, and prolongs its time if that slides.
  ///
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  package func look(for request: DownloadRequest) async throws(DownloadError) -> KnownFile {
    try await DownloadRun(self, Download(request)).look()
  }

  /// Notes a whole file that is about to take its name, so that later calls know what it is: call it
  /// before the rename.
  ///
  /// - Parameter written: the file's length, the time of its last change, when its writing began, and
  ///   from when its expiry counts.
  /// - Throws: ``DownloadError`` if the folder cannot be used.
  package func note(
    _ request: DownloadRequest, answeredBy url: NormalizedURL, head: HTTPResponseHead,
    source: DownloadedFile.Source, written: WrittenFile
  ) async throws(DownloadError) -> DownloadedFile {
    let run = DownloadRun(self, Download(request))
    let place = try await run.opened()
    defer { place.close() }
    let now = now
    let record = try await run.perform { () throws(SystemError) in
      var record = DownloadRecord(
        file: place.targetName, url: request.request.url.string, answeredBy: url.string,
        head: head, started: Timestamp(nanoseconds: written.began))
      (record.ended, record.length) = (now, written.length)
      record.modified = written.modified
      record.replaced = place.ownTime(of: record.url)
      record.expire(
        request.expiry ?? place.statedExpiry(for: record.url),
        from: min(now, Timestamp(nanoseconds: written.confirmed)))
      try place.save(record, .finished)
      return record
    }
    return DownloadedFile(
      path: request.file, record: record, source: source,
      receivedBytes: source == .network ? written.length : 0, resumedBytes: 0)
  }
}

extension Downloader {
  /// Removes what an interrupted download has left whose file has come in another way, unless somebody
  /// goes on with it just now.
  package func removeUnfinished(_ request: DownloadRequest) async {
    let (path, url) = (request.file, request.request.url.string)
    await pool.call { [files] in
      // Errors are ignored: the next call finds what is left.
      guard let place = try? DownloadPlace(path, files), place.begun(for: url) != nil else {
        return
      }
      _ = try? PartFile.withLock(place) { $0.remove(of: url) }
    }
  }
}

/// What a folder tells of the file of a request.
package enum KnownFile: Sendable {
  /// It is there, unchanged, and has not expired.
  case unexpired(DownloadedFile)
  /// It is there, unchanged, and has expired: only its server can tell whether it is still good.
  case expired
  /// It is not there, was changed, or has no expiry. The expiry is the one that the last call for the
  /// URL was given.
  case unknown(DownloadExpiry?)
}

/// Tells of a file that was written whole; times are in nanoseconds since 1970.
package struct WrittenFile: Sendable {
  package var length: UInt64
  package var modified: Int64
  package var began: Int64
  /// When the server gave or last confirmed the content.
  package var confirmed: Int64

  package init(length: UInt64, modified: Int64, began: Int64, confirmed: Int64) {
    (self.length, self.modified) = (length, modified)
    (self.began, self.confirmed) = (began, confirmed)
  }
}
