import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransport

/// Carries one download out, from the look at what is there to the file in place.
struct DownloadRun: Sendable {
  /// How long another process that has the same part is left alone before the next look.
  private static let lockInterval = Duration.milliseconds(100)

  let downloader: Downloader
  let download: Download

  init(_ downloader: Downloader, _ download: Download) {
    self.downloader = downloader
    self.download = download
  }

  var asked: DownloadRequest { download.request }

  /// Gives the file.
  ///
  /// - Parameter source: downloads the same URL to another file just now.
  func run(copying source: Download?) async throws(DownloadError) -> DownloadedFile {
    guard asked.request.method == .get else {
      throw download.error(.method(asked.request.method.rawValue))
    }
    let place = try await opened()
    if let good = try await goodFile(place) { return good }
    // Before the lock is taken: two processes that each have one and wait for the other's would wait
    // for ever.
    let copied = try await file(of: source)
    let part = try await locked(place)
    // Who had the lock before may have finished it.
    if let good = try await goodFile(place) {
      try await perform { () throws(SystemError) in
        if try part.status()?.length == 0 { part.remove() }
      }
      return good
    }
    if let copied, let copy = try await copy(copied, to: part) { return copy }
    return try await transfer(place, part)
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
    let url = asked.request.url.string
    let digest = asked.digest
    let record = try await perform { () throws(SystemError) in
      place.finishedRecord(with: digest)
    }
    guard let record, record.url == url else { return nil }
    return DownloadedFile(
      path: asked.file, record: record, source: .file, receivedBytes: 0, resumedBytes: 0)
  }

  /// Runs what blocks off the cooperative pool.
  func perform<R: Sendable>(
    _ work: @escaping @Sendable () throws(SystemError) -> R
  ) async throws(DownloadError) -> R {
    do throws(SystemError) {
      return try await downloader.pool.call(work)
    } catch {
      throw download.error(.file(error))
    }
  }

  private func opened() async throws(DownloadError) -> DownloadPlace {
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
    let (url, digest) = (asked.request.url.string, asked.digest)
    let record = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard let found = place.finishedRecord(), found.url == url, found.isGood(at: now),
        var record = place.finishedRecord(with: digest), record == found
      else { return nil }
      if let seconds = record.slidingSeconds {
        record.expires = now.advanced(bySeconds: Double(seconds))
        try place.save(record, .finished)
      }
      return record
    }
    guard let record else { return nil }
    return DownloadedFile(
      path: asked.file, record: record, source: .file, receivedBytes: 0, resumedBytes: 0)
  }

  /// Takes the part's lock, which another process may hold.
  private func locked(_ place: DownloadPlace) async throws(DownloadError) -> PartFile {
    while true {
      try await download.waitWhilePaused()
      let part = try await perform { () throws(SystemError) in try PartFile.open(place) }
      if let part { return part }
      download.tell { $0.phase = .waiting }
      _ = await download.run { try? await Task.sleep(for: Self.lockInterval) }
    }
  }
}
