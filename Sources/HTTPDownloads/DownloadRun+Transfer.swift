import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransport

// From the network to the part, try after try.
extension DownloadRun {
  /// Counts the bytes of one run.
  struct Counts: Sendable {
    var received: UInt64 = 0
    /// What an earlier call had left; nil: nobody has looked yet.
    var resumed: UInt64?
  }

  /// Asks until the file is there, or there is no point in asking.
  ///
  /// - Throws: also when it was paused, `cancelled`.
  func transfer(
    _ place: DownloadPlace, _ part: PartFile, _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile {
    let url = asked.request.url.string
    let asked = asked
    // What is said now holds from now on, also where no answer comes.
    let begun = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard var begun = place.begun(for: url) else { return nil }
      let expiry = asked.expiry ?? place.statedExpiry(for: url)
      if begun.expiry != expiry {
        begun.expiry = expiry
        try place.save(begun, .unfinished)
      }
      return begun
    }
    let record = try await recovered(begun, part)
    do throws(DownloadError) {
      return try await tries(place, part, record, &counts)
    } catch {
      let now = date
      // What has come is kept for the next call, also where this one cannot go on; and what is known of
      // one that was begun before, although nothing of it is left.
      try? await perform { () throws(SystemError) in
        guard let left = place.record(.unfinished) else { return part.remove() }
        // Nothing has come in the way of a download of another URL.
        guard left.url == url else { return }
        let isOfUse = part.length > 0 && Resumption.isPossible(left.head.fields, now: now)
        if isOfUse || begun != nil { try part.flush() } else { part.remove() }
      }
      throw error
    }
  }

  private func tries(
    _ place: DownloadPlace, _ part: PartFile, _ recovered: DownloadRecord?,
    _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile {
    var record = recovered
    let resumed = counts.resumed ?? part.length
    counts.resumed = resumed
    download.tell { $0.resumed = resumed }
    // Whether the part has bytes of several answers, and whether that was wrong once.
    var (isPutTogether, wasWrong) = (part.length > 0, false)
    var retry = 0
    // How far any try has come: bytes that had come before are no success.
    var furthest = part.length
    while true {
      if download.isStopped { throw download.error(.cancelled) }
      if let whole = record, whole.length == part.length {
        do throws(DownloadError) {
          return try await finish(place, part, whole, counts)
        } catch {
          // What was put together of several answers is fetched once more as one.
          guard case .wrongDigest = error.cause, isPutTogether, !wasWrong else { throw error }
          (record, counts.resumed, isPutTogether, wasWrong) = (nil, 0, false, true)
          furthest = 0
        }
      }
      let known = record
      let (attempt, isStopped) = await download.run { await self.attempt(place, part, known) }
      counts.received += attempt.received
      if let wentOn = attempt.wentOn {
        isPutTogether = wentOn
        if !wentOn { counts.resumed = 0 }
      }
      record = attempt.record
      if part.length > furthest { (furthest, retry) = (part.length, 0) }
      if isStopped { throw download.error(.cancelled) }
      switch attempt.outcome {
      case .confirmed: return try await confirm(place, part, &counts)
      case .complete: continue
      case .askForWhole: (counts.resumed, isPutTogether) = (0, false)
      case .failed(let cause, let retryAfter):
        try await waitToRetry(cause, retry, retryAfter)
        retry += 1
      }
    }
  }

  /// Reads what an earlier call has left; nil where nothing of it can be used.
  private func recovered(
    _ begun: DownloadRecord?, _ part: PartFile
  ) async throws(DownloadError) -> DownloadRecord? {
    let asked = asked
    let now = date
    let download = download
    let record = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard asked.resumes, let record = begun, record.file == part.place.targetName,
        Resumption.isPossible(record.head.fields, now: now)
      else { return nil }
      let algorithm = Self.stated(asked, record)?.algorithm
      let isWhole = try part.recover(for: record, algorithm) { download.isCancelled }
      return isWhole && part.length > 0 ? record : nil
    }
    // Before anything is removed: a part that was not looked at to its end counts as empty.
    if download.isCancelled { throw download.error(.cancelled) }
    return record
  }

  /// Returns the digest that the file must have; that of the caller, if there are two.
  static func stated(_ asked: DownloadRequest, _ record: DownloadRecord) -> StatedDigest? {
    asked.digest ?? StatedDigest(of: record.head)
  }

  var date: HTTPDate { HTTPDate(seconds: Int64(downloader.now.seconds)) }

  private func waitToRetry(
    _ cause: DownloadError.Cause, _ retry: Int, _ stated: Int64?
  ) async throws(DownloadError) {
    let error = download.error(cause)
    guard downloader.retries.mayRetry(cause),
      let wait = downloader.retries.wait(
        before: retry, stated: stated, random: Double.random(in: 0...1))
    else { throw error }
    download.tell { $0.phase = .retrying(error) }
    _ = await download.run { try? await Task.sleep(for: wait) }
  }
}
