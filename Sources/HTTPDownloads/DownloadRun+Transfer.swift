import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransports

// From the network to the part, try after try.
extension DownloadRun {
  struct Counts: Sendable {
    var received: UInt64 = 0
    /// The bytes of an earlier call; `nil` if not known yet.
    var resumed: UInt64?
  }

  /// Sends requests until the file is there, or an error is permanent.
  ///
  /// - Throws: `cancelled` also if it was paused.
  func transfer(
    _ place: DownloadPlace, _ part: PartFile, _ counts: inout Counts
  ) async throws(DownloadError) -> DownloadedFile {
    let url = asked.request.url.string
    let asked = asked
    // The expiry of this call counts from now on, even if no answer comes.
    let begun = try await perform { () throws(SystemError) -> DownloadRecord? in
      guard var begun = try place.begun(for: url) else { return nil }
      let stated = try place.statedExpiry(for: url)
      let expiry = asked.expiry ?? stated
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
      // The bytes are kept for the next call, even if this one cannot use them; and so is the
      // record of an earlier call, even if none of its bytes are left. If it is not known whether there
      // is one, nothing is removed.
      try? await perform { () throws(SystemError) in
        let left: DownloadRecord?
        do throws(SystemError) { left = try place.record(.unfinished) } catch {
          return try part.flush()
        }
        guard let left else {
          // A complete one only lacks its name, whatever its URL.
          if try place.recordOfWholePart() == nil { part.remove() }
          return
        }
        // The interrupted download of another URL stays.
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
    // Whether the part has bytes of several answers, and whether their digest was wrong before.
    var (isPutTogether, wasWrong) = (part.length > 0, false)
    // The body of the part if it is another cache's, and whether such a body was refused.
    var (copy, hasRefused): ((any CopiedBody)?, Bool) = (nil, false)
    var retry = 0
    // A whole file of an earlier call may have changed since.
    var mustAsk = record.map { $0.length == part.length && !isOfUse($0) } ?? false
    // When the server gave the bytes of a whole file of an earlier call; `nil` for now.
    var given = record.flatMap { $0.length == part.length ? $0.started : nil }
    // The furthest point of all tries: only bytes beyond it are progress.
    var furthest = part.length
    while true {
      if download.isStopped { throw download.error(.cancelled) }
      if let whole = record, whole.length == part.length, !mustAsk {
        do throws(DownloadError) {
          return try await finish(place, part, whole, counts, given: given)
        } catch {
          guard case .wrongDigest = error.cause else { throw error }
          if let refused = copy, !hasRefused {
            // The other cache may have an older content than the origin.
            refused.refuse()
            (copy, hasRefused) = (nil, true)
          } else {
            // A file made of several answers is downloaded once more as a whole.
            guard isPutTogether, !wasWrong else { throw error }
            wasWrong = true
          }
          (record, counts.resumed, isPutTogether) = (nil, 0, false)
          furthest = 0
        }
      }
      let known = record
      let (attempt, isStopped) = await download.run { await self.attempt(place, part, known) }
      counts.received += attempt.received
      if let wentOn = attempt.wentOn {
        isPutTogether = wentOn
        copy = attempt.copy
        if !wentOn { counts.resumed = 0 }
      }
      record = attempt.record
      if part.length > furthest { (furthest, retry) = (part.length, 0) }
      if isStopped { throw download.error(.cancelled) }
      switch attempt.outcome {
      case .confirmed(let record, let user):
        return try await confirm(record, by: user, place, part, &counts)
      case .complete: (mustAsk, given) = (false, nil)
      case .askForWhole: (counts.resumed, isPutTogether) = (0, false)
      case .confirmWhole: (mustAsk, given) = (true, nil)
      case .failed(let cause, let retryAfter):
        do throws(DownloadError) { try await waitToRetry(cause, retry, retryAfter) } catch {
          if mustAsk, let given {
            await placeUnasked(record, place, part, counts, given, after: error)
          }
          throw error
        }
        retry += 1
      }
    }
  }

  /// Gives a whole file of an earlier call its name if the server cannot be reached and there is no file,
  /// so that it can be used without a network. As this call fails, it replaces nothing.
  private func placeUnasked(
    _ record: DownloadRecord?, _ place: DownloadPlace, _ part: PartFile, _ counts: Counts,
    _ given: Timestamp, after error: DownloadError
  ) async {
    let hasFile = try? await perform { () throws(SystemError) in
      place.status(place.target) != nil
    }
    guard let whole = record, whole.length == part.length, hasFile == false,
      asked.reuse == .unexpired, case .transport(let cause) = error.cause, cause.isUnreachable
    else { return }
    _ = try? await finish(place, part, whole, counts, given: given)
  }

  /// Returns whether the whole file of an earlier call is what this call wants, without a question to the
  /// server: it has an expiry, which is to come, or is what the digest says.
  func isOfUse(_ record: DownloadRecord) -> Bool {
    var known = record
    known.expire(asked.expiry ?? record.expiry, from: min(record.started, downloader.now))
    return asked.digest != nil
      || asked.reuse == .unexpired && known.isGood(at: downloader.now, for: nil)
  }

  /// Reads the bytes of an earlier call, and returns their record, or `nil` if they cannot be used.
  private func recovered(
    _ begun: DownloadRecord?, _ part: PartFile
  ) async throws(DownloadError) -> DownloadRecord? {
    let (asked, downloader, download) = (asked, downloader, download)
    let now = date
    return try await perform { () throws(SystemError) -> DownloadRecord? in
      guard asked.resumes, let record = begun, downloader.mayServe(asked, record),
        Resumption.isPossible(record.head.fields, now: now)
      else { return nil }
      let algorithm = Self.stated(asked, record)?.algorithm
      try part.recover(for: record, algorithm) { download.isCancelled }
      return record
    }
  }

  /// Returns the digest that the file must have, preferably that of the caller.
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
