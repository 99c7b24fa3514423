import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransport

/// Carries one download out, from the look at what is there to the file in place.
struct DownloadRun: Sendable {
  /// How long others that have the part, or all descriptors, are left alone before the next look.
  private static let lockInterval = Duration.milliseconds(100)

  let downloader: Downloader
  let download: Download

  init(_ downloader: Downloader, _ download: Download) {
    self.downloader = downloader
    self.download = download
  }

  var asked: DownloadRequest { download.request }

  /// Names the host for the limits.
  var host: String { "\(asked.request.url.host):\(asked.request.url.port)" }

  /// Gives the file.
  ///
  /// - Parameter source: downloads the same URL to another file just now.
  func run(copying source: Download?) async throws(DownloadError) -> DownloadedFile {
    guard asked.request.method == .get else {
      throw download.error(.method(asked.request.method.rawValue))
    }
    // With nothing open and locked: else two processes that each have one file could wait for ever
    // for the other's.
    let copied = try await file(of: source)
    var counts = Counts()
    while true {
      try await download.waitWhilePaused()
      do throws(DownloadError) {
        if let file = try await turn(copied, &counts) { return file }
      } catch {
        if case .cancelled = error.cause, !download.isCancelled { continue }
        // Others close theirs when they are done.
        guard case .file(let cause) = error.cause, cause.isOutOfDescriptors,
          downloader.places.isBusy
        else { throw error }
      }
      download.tell { $0.phase = .waiting }
      _ = await download.run { try? await Task.sleep(for: Self.lockInterval) }
    }
  }

  /// Opens its files, which only so many do at once, and goes as far as it gets without a pause.
  ///
  /// - Returns: nil where another process has the part.
  /// - Throws: `cancelled` when it was paused or cancelled.
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

  /// Finishes the download with its part, which is locked, as far as it gets without a pause.
  private func turn(
    _ place: DownloadPlace, _ part: PartFile, _ copied: DownloadedFile?, _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile? {
    // Whoever had the lock before may have finished the download.
    if let good = try await goodFile(place) {
      try await perform { () throws(SystemError) in
        if try part.isEmpty() { part.remove(of: good.record.url) }
      }
      return good
    }
    try await checkOthers(place, part)
    if let whole = try await completed(place, part) {
      // One that a kill left long ago may have expired: the next turn asks the server.
      let hasExpired = asked.reuse == .unexpired && whole.record.hasExpired(at: downloader.now)
      return hasExpired ? nil : whole
    }
    if let copied, let copy = try await copy(copied, to: part) { return copy }
    return try await transfer(place, part, &counts)
  }

  /// Leaves a file alone that is another's, if it is not to be replaced: by what this call says, or the
  /// one that is gone on with.
  func checkOthers(_ place: DownloadPlace, _ part: PartFile) async throws(DownloadError) {
    guard !asked.replacesOthers else { return }
    let url = asked.request.url.string
    let isAnother = try await perform { () throws(SystemError) in
      guard let time = place.anothersTime(than: url), place.begun(for: url)?.mayReplace != time
      else { return false }
      part.removeIfUnused()
      return true
    }
    if isAnother { throw download.error(.fileExists) }
  }

  /// Refuses a place where the file of another user stands in the way, before anything is asked for.
  private func checkUsers(_ place: DownloadPlace) async throws(DownloadError) {
    let replacesTarget = asked.replacesOthers
    let name = try await perform { () throws(SystemError) in
      place.othersFile(hasTarget: replacesTarget)
    }
    if let name { throw download.error(.othersFile(name.text)) }
  }

  /// Waits for the file of another download; nil if it has none.
  private func file(of other: Download?) async throws(DownloadError) -> DownloadedFile? {
    guard let other else { return nil }
    let file = await download.run { () -> DownloadedFile? in try? await other.value() }.result
    try await download.waitWhilePaused()
    return file
  }

  /// Returns the file if it is there, whatever its age.
  func fileNow() async throws(DownloadError) -> DownloadedFile? {
    let place = try await opened()
    defer { place.close() }
    let url = asked.request.url.string
    let digest = asked.digest
    let record = try await perform { () throws(SystemError) in
      place.finishedRecord(with: digest)
    }
    guard let record, record.url == url else { return nil }
    return DownloadedFile(
      path: asked.file, record: record, source: .file, receivedBytes: 0, resumedBytes: 0)
  }

  /// Looks for the file, and prolongs its time if that slides.
  func look() async throws(DownloadError) -> KnownFile {
    let place = try await opened()
    defer { place.close() }
    if let good = try await goodFile(place) { return .unexpired(good) }
    let url = asked.request.url.string
    return try await perform { () throws(SystemError) in
      if let record = place.finishedRecord(), record.url == url, record.expires != nil {
        return .expired
      }
      return .unknown(place.statedExpiry(for: url))
    }
  }

  /// Runs what blocks off the cooperative pool.
  func perform<R: Sendable>(
    _ work: @escaping @Sendable () throws(SystemError) -> R
  ) async throws(DownloadError) -> R {
    do throws(DownloadError.Cause) {
      return try await blocking(work)
    } catch {
      throw download.error(error)
    }
  }

  /// The same, where the cause is enough.
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
    let result = await downloader.pool.call { () -> Result<DownloadPlace, DownloadError.Cause> in
      do throws(DownloadError.Cause) {
        let place = try DownloadPlace(path, files)
        if place.status(place.target)?.kind == .directory { throw .isDirectory }
        return .success(place)
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let place): return place
    case .failure(let cause): throw download.error(cause)
    }
  }

  /// Returns the file that is there, if it is good without asking, and prolongs its time.
  private func goodFile(_ place: DownloadPlace) async throws(DownloadError) -> DownloadedFile? {
    guard asked.reuse == .unexpired else { return nil }
    let now = downloader.now
    let asked = asked
    let record = try await perform { () throws(SystemError) -> DownloadRecord? in
      let good = place.finishedRecord(with: asked.digest) {
        $0.url == asked.request.url.string && $0.isGood(at: now, for: asked.expiry)
      }
      return good.map { place.prolonged($0, from: now) }
    }
    guard let record else { return nil }
    return DownloadedFile(
      path: asked.file, record: record, source: .file, receivedBytes: 0, resumedBytes: 0)
  }
}
