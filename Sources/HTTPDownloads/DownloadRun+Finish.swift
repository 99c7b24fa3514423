import CacheFormat
import CacheSystem
import HTTPSemantics

// From the part to the file in place.
extension DownloadRun {
  /// Verifies the part, and renames it to the target.
  ///
  /// - Parameter given: When the server gave the content; `nil` for now.
  func finish(
    _ place: DownloadPlace, _ part: PartFile, _ record: DownloadRecord, _ counts: Counts,
    source: DownloadedFile.Source = .network, given: Timestamp? = nil
  ) async throws(DownloadError) -> DownloadedFile {
    try await verify(part, record)
    let (asked, isDurable) = (asked, downloader.options.isDurable)
    if isDurable { try await perform { () throws(SystemError) in try part.synchronize() } }
    try await checkOthers(place, part)
    let now = downloader.now
    let given = given.map { min($0, now) }
    let finished = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard let status = try part.status() else { return nil }
      var record = record
      (record.ended, record.length, record.modified) = (now, status.length, status.modified)
      (record.replaced, record.mayReplace) = (try place.ownTime(of: record.url), nil)
      record.given = given
      record.expire(record.expiry, from: given ?? now)
      // The record first: it only counts for the file that is about to take the name.
      try place.save(record, .finished)
      try part.moveIntoPlace()
      if isDurable { try place.synchronize() }
      return record
    }
    guard let finished else { throw download.error(.disturbed) }
    return DownloadedFile(
      path: asked.file, record: finished, source: source, receivedBytes: counts.received,
      resumedBytes: counts.resumed ?? 0)
  }

  /// Renames a complete and verified part to the target, after a kill before the rename; returns
  /// `nil` if there is none. One for which the server has to be asked replaces no file of others, as that
  /// can fail.
  func completed(
    _ place: DownloadPlace, _ part: PartFile
  ) async throws(DownloadError) -> DownloadedFile? {
    guard asked.resumes, asked.reuse != .never else { return nil }
    let (asked, downloader) = (asked, downloader)
    let isDurable = downloader.options.isDurable
    let whole = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard let record = try place.recordOfWholePart(), downloader.isFor(asked, record),
        try place.anothersTime(than: record.url) == nil || isOfUse(record),
        try place.has(place.part, asked.digest)
      else { return nil }
      if isDurable { try part.synchronize() }
      try part.moveIntoPlace()
      if isDurable { try place.synchronize() }
      return record
    }
    guard let whole else { return nil }
    return DownloadedFile(
      path: asked.file, record: whole, source: .network, receivedBytes: 0,
      resumedBytes: whole.length ?? 0)
  }

  private func verify(
    _ part: PartFile, _ record: DownloadRecord
  ) async throws(DownloadError) {
    let stated = Self.stated(asked, record)
    let digest = try await perform { () throws(SystemError) -> [UInt8]? in
      try part.flush()
      return part.finishDigest()
    }
    guard let stated, let digest, let actual = try? StatedDigest(stated.algorithm, digest),
      actual != stated
    else { return }
    try await perform { () throws(SystemError) in try part.restart() }
    throw download.error(.wrongDigest(expected: stated, actual: actual))
  }

  func confirm(
    _ confirmed: DownloadRecord, by user: String?, _ place: DownloadPlace, _ part: PartFile,
    _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile {
    let now = downloader.now
    let (asked, downloader) = (asked, downloader)
    let record = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard let old = try place.finishedRecord(), old.mark == confirmed.mark else { return nil }
      var record = old
      record.selection = downloader.selection(
        of: asked, by: record.head, sentBy: user)
      record.expire(asked.expiry ?? old.expiry, from: now)
      record.confirm(at: now)
      // On a full disk the file is as good without that.
      try? place.save(record, .finished)
      try part.remove(of: record.url)
      return record
    }
    // Somebody has changed or replaced the file meanwhile.
    guard let record else { return try await transfer(place, part, &counts) }
    return DownloadedFile(
      path: asked.file, record: record, source: .confirmed, receivedBytes: counts.received,
      resumedBytes: 0)
  }

  /// Copies the file of another download of the same URL; returns `nil` if the file has changed, does
  /// not have the digest of this call, or is older than that download, as this call has its own expiry.
  func copy(
    _ file: DownloadedFile, to part: PartFile
  ) async throws(DownloadError) -> DownloadedFile? {
    let place = part.place
    // An interrupted download is resumed instead, and a complete file of another URL, which only lacks
    // its name, stays until there is another one.
    guard file.source != .file,
      try await perform({ () throws(SystemError) in
        guard try place.record(.unfinished) == nil else { return false }
        return try place.recordOfWholePart() == nil
      })
    else { return nil }
    do throws(DownloadError) {
      guard let record = try await copied(file, part) else { return nil }
      return try await finish(place, part, record, Counts(), source: .copy)
    } catch {
      // The server may have another content than when it was asked for that file.
      if case .wrongDigest = error.cause { return nil }
      try? await perform { () throws(SystemError) in part.remove() }
      throw error
    }
  }

  private func copied(
    _ file: DownloadedFile, _ part: PartFile
  ) async throws(DownloadError) -> DownloadRecord? {
    let (asked, download) = (asked, download)
    return try await perform { () throws(SystemError) -> DownloadRecord? in
      var record = file.record
      try part.restart(for: record, Self.stated(asked, record)?.algorithm)
      let files = part.place.files
      guard let source = try? files.open(userPath: file.path, [.read]),
        file.isUnchanged(source, files)
      else { return nil }
      while true {
        let bytes = try files.readBytes(
          source, count: PartContent.blockBytes, at: Int64(part.length))
        guard !bytes.isEmpty, !download.isCancelled else { break }
        _ = part.gather(bytes)
        try part.flush()
      }
      // It may have changed while it was read.
      guard part.length == record.length, file.isUnchanged(source, files) else {
        try part.restart()
        return nil
      }
      record.file = part.place.targetName
      let stated = try part.place.statedExpiry(for: record.url)
      (record.expiry, record.expires) = (asked.expiry ?? stated, nil)
      return record
    }
  }
}
