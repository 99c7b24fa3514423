import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// The work of one download, from the check of existing files to the file in place.
struct DownloadRun: Sendable {
  /// The delay before the next try, while another process has the lock, or no descriptor is free.
  private static let lockInterval = Duration.milliseconds(100)

  let downloader: Downloader
  let download: Download

  var asked: DownloadRequest { download.request }

  /// The host, for the limits.
  var host: String { "\(asked.request.url.host):\(asked.request.url.port)" }

  /// Downloads the file.
  ///
  /// - Parameter source: A download of the same URL to another file that is in progress.
  func run(copying source: Download?) async throws(DownloadError) -> DownloadedFile {
    guard asked.request.method == .get else {
      throw download.error(.method(asked.request.method.rawValue))
    }
    // Nothing is open and locked here: otherwise two processes with one file each could wait for
    // each other forever.
    let copied = try await file(of: source)
    var counts = Counts()
    while true {
      try await download.waitWhilePaused()
      do throws(DownloadError) {
        if let file = try await turn(copied, &counts) { return file }
      } catch {
        if case .cancelled = error.cause, !download.isCancelled { continue }
        // Other downloads close their descriptors when they end.
        guard case .file(let cause) = error.cause, cause.isOutOfDescriptors,
          downloader.places.isBusy
        else { throw error }
      }
      download.tell { $0.phase = .waiting }
      _ = await download.run { try? await Task.sleep(for: Self.lockInterval) }
    }
  }

  /// Opens the files, when it is its turn, and downloads until it is finished, paused or cancelled.
  ///
  /// - Returns: `nil` if another process has the part.
  /// - Throws: `cancelled` if it was paused or cancelled.
  private func turn(
    _ copied: DownloadedFile?, _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile? {
    let host = host
    let (isMine, _) = await download.run { [downloader, asked] in
      await downloader.places.acquire(host, priority: asked.priority)
    }
    guard isMine else { throw download.error(.cancelled) }
    defer { downloader.places.release(host) }
    let place = try await opened()
    defer { place.close() }
    if let good = try await goodFile(place) { return good }
    try await checkUsers(place)
    guard let part = try await perform({ () throws(SystemError) in try PartFile.open(place) })
    else { return nil }
    defer { part.close() }
    return try await turn(place, part, copied, &counts)
  }

  /// Downloads with the locked part until it is finished, paused or cancelled.
  private func turn(
    _ place: DownloadPlace, _ part: PartFile, _ copied: DownloadedFile?, _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile? {
    // Whoever had the lock before may have finished the download.
    if let good = try await goodFile(place) {
      try await perform { () throws(SystemError) in
        try part.removeIfUnused()
      }
      return good
    }
    try await checkOthers(place, part)
    if let whole = try await completed(place, part) {
      // It may have expired since a kill long ago, or the caller wants to know what the server has now:
      // then the next turn asks.
      return isOfUse(whole.record) ? whole : nil
    }
    if let copied, let copy = try await copy(copied, to: part) { return copy }
    return try await transfer(place, part, &counts)
  }

  /// Refuses to overwrite a file that this downloader did not download, unless this call or the
  /// interrupted one allows it.
  func checkOthers(_ place: DownloadPlace, _ part: PartFile) async throws(DownloadError) {
    guard !asked.replacesOthers else { return }
    let url = asked.request.url.string
    let isAnother = try await perform { () throws(SystemError) in
      guard let time = try place.anothersTime(than: url),
        try place.begun(for: url)?.mayReplace != time
      else { return false }
      try part.removeIfUnused()
      return true
    }
    if isAnother { throw download.error(.fileExists) }
  }

  /// Refuses a place where a file of another user cannot be replaced, before a request is sent.
  private func checkUsers(_ place: DownloadPlace) async throws(DownloadError) {
    let replacesTarget = asked.replacesOthers
    let name = try await perform { () throws(SystemError) in
      place.othersFile(hasTarget: replacesTarget)
    }
    if let name { throw download.error(.othersFile(name.text)) }
  }

  /// Waits for the file of another download; returns `nil` if it fails.
  private func file(of other: Download?) async throws(DownloadError) -> DownloadedFile? {
    guard let other else { return nil }
    let file = await download.run { () -> DownloadedFile? in try? await other.value() }.result
    try await download.waitWhilePaused()
    return file
  }

  /// Returns the file if it is there and unchanged, whatever its age.
  func fileNow() async throws(DownloadError) -> DownloadedFile? {
    let place = try await opened()
    defer { place.close() }
    return try await existingFile(place)
  }

  func look() async throws(DownloadError) -> KnownFile {
    let place = try await opened()
    defer { place.close() }
    if let good = try await goodFile(place) { return .unexpired(good) }
    let (asked, downloader) = (asked, downloader)
    return try await perform { () throws(SystemError) in
      let stated = try place.statedExpiry(for: asked.request.url.string)
      guard let record = try place.finishedRecord(), downloader.isFor(asked, record) else {
        return .unknown(stated)
      }
      return .expired(stated)
    }
  }

  /// Runs blocking work outside of the cooperative pool.
  func perform<R: Sendable>(
    _ work: @escaping @Sendable () throws(SystemError) -> R
  ) async throws(DownloadError) -> R {
    do throws(DownloadError.Cause) {
      return try await blocking(work)
    } catch {
      throw download.error(error)
    }
  }

  /// Runs blocking work as ``perform(_:)`` does, and throws the cause alone.
  func blocking<R: Sendable>(
    _ work: @escaping @Sendable () throws(SystemError) -> R
  ) async throws(DownloadError.Cause) -> R {
    do throws(SystemError) {
      return try await downloader.pool.call(work)
    } catch {
      throw .file(error)
    }
  }

  func opened() async throws(DownloadError) -> DownloadPlace {
    let (path, files) = (asked.file, downloader.files)
    do throws(DownloadError.Cause) {
      return try await downloader.pool.call { () throws(DownloadError.Cause) -> DownloadPlace in
        let place = try DownloadPlace(path, files)
        switch place.status(place.target)?.kind {
        case .directory: throw DownloadError.Cause.isDirectory
        case .other: throw DownloadError.Cause.notAFile
        case .file, .link, nil: return place
        }
      }
    } catch {
      throw download.error(error)
    }
  }

  /// Returns the existing file if it has not expired, and prolongs a sliding expiry.
  private func goodFile(_ place: DownloadPlace) async throws(DownloadError) -> DownloadedFile? {
    asked.reuse == .unexpired ? try await existingFile(place, unexpiredAt: downloader.now) : nil
  }

  /// Returns the file if it is there and unchanged, and answers the request.
  ///
  /// - Parameter now: The time at which it must not have expired, and from which a sliding expiry
  ///   begins anew; `nil` for a file of any age.
  private func existingFile(
    _ place: DownloadPlace, unexpiredAt now: Timestamp? = nil
  ) async throws(DownloadError) -> DownloadedFile? {
    let (asked, downloader) = (asked, downloader)
    let record = try await perform { () throws(SystemError) -> DownloadRecord? in
      let found = try place.finishedRecord(with: asked.digest) { record in
        now.map { record.isGood(at: $0, for: asked.expiry) } ?? true
          && downloader.isFor(asked, record)
      }
      guard let found, let now else { return found }
      return place.prolonged(found, from: now)
    }
    return record.map {
      DownloadedFile(
        path: asked.file, record: $0, source: .file, receivedBytes: 0, resumedBytes: 0)
    }
  }
}
