import CacheSystem
import ContentCoding
import HTTPAuthentication
import HTTPSemantics
import HTTPTransports

struct DownloadAttempt: Sendable {
  enum Outcome: Sendable {
    /// The body is complete, by its framing.
    case complete
    /// The server has confirmed the existing file with this record, for a user.
    case confirmed(DownloadRecord, user: String?)
    /// The existing bytes cannot be used.
    case askForWhole
    /// The existing bytes are all, if the server confirms them.
    case confirmWhole
    case failed(DownloadError.Cause, retryAfter: Int64? = nil)
  }

  var outcome: Outcome
  /// The record of the part; `nil` if the download cannot be resumed.
  var record: DownloadRecord?
  var received: UInt64 = 0
  /// Whether they were appended to bytes of earlier answers; `nil` if none were received.
  var wentOn: Bool?
  /// The body, if all bytes come from it and it is another cache's.
  var copy: (any CopiedBody)?
}

// One request.
extension DownloadRun {
  /// The longest time that bytes of a slow transfer wait to be written.
  private static let flushInterval = Duration.seconds(1)

  /// Requests the missing bytes, and writes them. If the part is whole, asks whether the file is still
  /// the same.
  func attempt(
    _ place: DownloadPlace, _ part: PartFile, _ record: DownloadRecord?
  ) async -> DownloadAttempt {
    guard await downloader.slots.acquire(host, priority: asked.priority) else {
      return DownloadAttempt(outcome: .failed(.cancelled), record: record)
    }
    defer { downloader.slots.release(host) }
    download.tell { progress in
      (progress.phase, progress.received) = (.receiving, part.length)
      progress.resumed = min(progress.resumed, part.length)
      progress.total = record?.length
    }
    let whole = record.flatMap { $0.length == part.length ? $0 : nil }
    let resumption = whole == nil ? record.flatMap { continuing($0, part) } : nil
    do throws(DownloadError.Cause) {
      var finished = whole
      if resumption == nil, whole == nil { finished = try await finishedRecord(place) }
      var answer = try await send(request(resumption, finished))
      if answer.head.status == 304, let known = finished, !isMet(known, by: answer) {
        await answer.body.end()
        finished = nil
        answer = try await send(request(nil, nil))
      }
      if answer.head.status == 304, var whole, finished != nil {
        await answer.body.end()
        whole.selection = downloader.selection(of: asked, by: whole.head, sentBy: answer.user)
        whole.confirm(at: downloader.now)
        return DownloadAttempt(outcome: .complete, record: whole)
      }
      return await take(answer, place, part, record, resumption, finished)
    } catch {
      return DownloadAttempt(outcome: .failed(error), record: record)
    }
  }

  private func continuing(_ record: DownloadRecord, _ part: PartFile) -> Resumption? {
    Resumption(
      of: record.head.fields, offset: part.length, completeLength: record.length, now: date)
  }

  /// Returns the record of the existing file, for the server to confirm.
  private func finishedRecord(
    _ place: DownloadPlace
  ) async throws(DownloadError.Cause) -> DownloadRecord? {
    guard asked.reuse != .never else { return nil }
    let (asked, downloader) = (asked, downloader)
    return try await blocking { () throws(SystemError) in
      try place.finishedRecord(with: asked.digest) { downloader.mayServe(asked, $0) }
    }
  }

  /// Returns whether an answer is about the bytes that are there. A redirect may lead elsewhere now,
  /// where the tag or the time means something else, and the transport may have logged in another user.
  private func isMet(_ record: DownloadRecord, by answer: TransportResponse) -> Bool {
    record.head.isMet(from: record.answeredBy, by: answer)
      && downloader.mayServe(
        downloader.selection(of: asked, by: record.head, sentBy: answer.user), record)
  }

  private func request(_ resumption: Resumption?, _ finished: DownloadRecord?) -> HTTPRequest {
    var request = asked.request.forWholeContent()
    // A part of an encoded body cannot be decoded.
    if !request.fields.contains("Accept-Encoding") {
      request.fields.append(HTTPField("Accept-Encoding", "identity"))
    }
    if let resumption { return resumption.request(request) }
    return finished.map { request.confirming($0.head.fields) } ?? request
  }

  private func send(
    _ request: HTTPRequest
  ) async throws(DownloadError.Cause) -> TransportResponse {
    var request = request
    let transport = downloader.transport.sending(asked.credential, to: asked.request.url)
    var users: Set<String?> = []
    for _ in 0...max(0, asked.maximumRedirects) {
      var answer: TransportResponse
      let next: HTTPRequest?
      do throws(TransportError) {
        answer = try await transport.send(request, options: asked.transport)
        users.insert(answer.user)
        // Different users of one chain are no user that a later request could name.
        if users.count > 1 { answer.user = DownloadSelection.ofNoRequest }
        guard asked.maximumRedirects > 0 else { return answer }
        next = try Redirection.next(
          after: answer.head, to: request, nil,
          allowsInsecure: asked.transport.allowsInsecureRedirects)?.0
      } catch {
        throw .transport(error)
      }
      guard let next else {
        guard let fault = Redirection.fault(answer.head, from: request.url) else { return answer }
        throw .unusableRedirect(fault.url)
      }
      await answer.body.end()
      request = next
    }
    throw .tooManyRedirects(maximum: asked.maximumRedirects)
  }

  /// Examines the head, and receives the body if it can be used.
  private func take(
    _ answer: TransportResponse, _ place: DownloadPlace, _ part: PartFile,
    _ record: DownloadRecord?, _ resumption: Resumption?, _ finished: DownloadRecord?
  ) async -> DownloadAttempt {
    let head = answer.head
    var judged =
      resumption?.judge(head) ?? ([200, 203].contains(head.status) ? .startOver : .refused)
    if case .goOn = judged, let record, !isMet(record, by: answer) { judged = .askForWhole }
    do throws(DownloadError.Cause) {
      switch judged {
      case .goOn(let end, let completeLength):
        guard var record else { break }
        record.length = completeLength
        record.selection = downloader.selection(
          of: asked, by: record.head, sentBy: answer.user)
        var attempt = await receive(
          answer.body, part, record, decoder: nil, isResumable: true, end: end)
        attempt.wentOn = true
        return attempt
      case .startOver:
        download.tell { ($0.received, $0.resumed) = (0, 0) }
        var attempt = try await startOver(answer, place, part)
        attempt.wentOn = false
        attempt.copy = answer.body as? any CopiedBody
        return attempt
      case .askForWhole:
        await answer.body.end()
        return DownloadAttempt(outcome: .askForWhole)
      case .confirmWhole:
        guard var record else { break }
        await answer.body.end()
        record.length = part.length
        return DownloadAttempt(outcome: .confirmWhole, record: record)
      case .refused: break
      }
      await answer.body.end()
      if let finished, head.status == 304 {
        return DownloadAttempt(outcome: .confirmed(finished, user: answer.user))
      }
      let retryAfter = RetryAfter.seconds(head.fields, now: date)
      return DownloadAttempt(
        outcome: .failed(.status(head.status), retryAfter: retryAfter), record: record)
    } catch {
      answer.body.cancel()
      return DownloadAttempt(outcome: .failed(error))
    }
  }

  private func startOver(
    _ answer: TransportResponse, _ place: DownloadPlace, _ part: PartFile
  ) async throws(DownloadError.Cause) -> DownloadAttempt {
    let asked = asked
    var record = DownloadRecord(
      file: place.targetName, url: asked.request.url.string, answeredBy: answer.url.string,
      head: answer.head, started: downloader.now)
    record.selection = downloader.selection(of: asked, by: record.head, sentBy: answer.user)
    let decoder = decoder(&record.head, of: answer.url)
    record.length = record.head.fields.contentLength
    let isDecoded = decoder != nil
    let isResumable = !isDecoded && Resumption.isPossible(record.head.fields, now: date)
    let new = record
    record = try await blocking { () throws(SystemError) in
      var record = new
      // The expiry of the file that is replaced is kept.
      let stated = try place.statedExpiry(for: record.url)
      record.expiry = asked.expiry ?? stated
      record.mayReplace =
        asked.replacesOthers
        ? try place.anothersTime(than: record.url) : try place.begun(for: record.url)?.mayReplace
      // In this order, so that a record is never combined with bytes of another answer.
      try part.restart(for: record, Self.stated(asked, record)?.algorithm)
      var saved = record
      // The bytes were decoded, and a server cannot continue them: nothing in the record may permit it.
      if isDecoded { saved.head.fields.removeAll(named: "Last-Modified") }
      try place.save(saved, .unfinished)
      return record
    }
    return await receive(
      answer.body, part, record, decoder: decoder, isResumable: isResumable)
  }

  /// Returns the decoder for a content coding that a server has sent without being asked, and
  /// removes the coding from the head.
  ///
  /// Some servers state a content coding for a compressed archive, which must not be decoded.
  private func decoder(_ head: inout HTTPResponseHead, of url: NormalizedURL) -> ContentDecoder? {
    let type = head.fields.first(named: "Content-Type")?.text.lowercased() ?? ""
    guard !type.hasPrefix("application/gzip"), !type.hasPrefix("application/x-gzip"),
      !type.hasPrefix("application/x-compressed"),
      let codings = head.fields.contentCodings,
      !(isCompressed(named: url.target.prefix { $0 != "?" }) || isCompressed(named: asked.file)),
      let decoder = ContentDecoder(codings: codings)
    else { return nil }
    head.fields.markDecoded()
    return decoder
  }

  /// Returns whether a name is that of a compressed file: Apache for example states the coding of
  /// `a.tar.gz` by its name.
  private func isCompressed(named name: some StringProtocol) -> Bool {
    [".gz", ".tgz", ".svgz"].contains { name.lowercased().hasSuffix($0) }
  }

  /// Receives a body.
  ///
  /// - Parameters:
  ///   - isResumable: Whether the download can be resumed if the body is interrupted.
  ///   - end: The end of a part of the file; `nil` if the body is the whole file.
  private func receive(
    _ body: any TransportBody, _ part: PartFile, _ record: DownloadRecord,
    decoder: consuming ContentDecoder?, isResumable: Bool, end: UInt64? = nil
  ) async -> DownloadAttempt {
    var attempt = DownloadAttempt(outcome: .complete, record: isResumable ? record : nil)
    var pieces = DecodedPieces(body, decoder)
    download.tell { $0.total = record.length }
    do throws(DownloadError.Cause) {
      var flushed = ContinuousClock.now
      while let piece = try await pieces.next() {
        attempt.received += UInt64(piece.count)
        let length = part.length + UInt64(piece.count)
        if let expected = end ?? record.length, length > expected {
          throw .wrongLength(expected: expected, received: length)
        }
        let now = ContinuousClock.now
        if part.gather(piece) || now - flushed > Self.flushInterval {
          try await blocking { () throws(SystemError) in try part.flush() }
          flushed = now
        }
        download.note(part.length)
        if Task.isCancelled { throw .cancelled }
      }
      // If the server has stated no length, the framing says that this is all.
      attempt.record = record
      attempt.record?.length = record.length ?? part.length
      // A part may end before the file: then the rest is requested next.
      if let expected = end ?? record.length, part.length < expected {
        throw .transport(TransportError(.truncatedBody, url: record.url))
      }
    } catch {
      body.cancel()
      attempt.outcome = .failed(error)
    }
    return attempt
  }
}
