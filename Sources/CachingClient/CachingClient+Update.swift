import CacheStore
import CacheSystem
public import HTTPAuthentication
import HTTPCaching
public import HTTPSemantics
public import HTTPTransport

/// Tells whether a server has something newer than a copy.
public enum UpdateState: Sendable, Hashable {
  /// The copy is what the server has.
  case current
  /// The server has something else.
  case changed
  /// The server does not tell: neither it nor the copy has a validator that the other has, too.
  case unknown
  /// The server does not give it now: it answers with this status, and the copy has another one.
  case refused(status: Int)
  /// There is no copy.
  case missing
}

extension CachingClient {
  /// Asks the server whether it has something newer than what is stored, without changing what is
  /// stored.
  ///
  /// Sends a `HEAD` with the validators of the copy (RFC 9110, section 13.1), and a `GET` whose body
  /// is not read where the server does not allow `HEAD`. The whole time-out of the options bounds all
  /// of it.
  ///
  /// - Parameter credential: As in ``FetchOptions/credential``.
  /// - Throws: ``ClientError/Cause/transport(_:)`` if the server cannot be asked in time; the copy stays
  ///   as it is.
  public func updateState(
    of request: HTTPRequest, credential: Credential? = nil, options: TransportOptions? = nil
  ) async throws(ClientError) -> UpdateState {
    let offered = ContentDecoding.offer(request, FetchOptions())
    let asked = named(offered, credential)
    let stored = await asyncStore.perform { [cache, now] _ in
      cache.decide(asked, policy: .offline, now: now)
    }
    guard case .serve(let serving) = stored else { return .missing }
    do throws(TransportError) {
      return try await UpdateCheck(
        transport: transport.sending(credential, to: request.url),
        options: options ?? self.options.transport
      )
      .state(of: serving.head, offered)
    } catch {
      throw ClientError(.transport(error), url: request.url.string)
    }
  }
}

extension Downloader {
  /// Asks the server whether it has something newer than a downloaded file, without changing the file.
  ///
  /// - Throws: ``DownloadError`` if the server cannot be asked in time, or the folder cannot be used.
  public func updateState(of request: DownloadRequest) async throws(DownloadError) -> UpdateState {
    let url = request.request.url.string
    let path = request.file
    let record = await pool.call { [files] () -> Result<DownloadRecord?, DownloadError.Cause> in
      do throws(DownloadError.Cause) {
        return .success(try DownloadPlace(path, files).finishedRecord())
      } catch {
        return .failure(error)
      }
    }
    do throws(DownloadError.Cause) {
      guard let record = try record.get(), record.url == url else { return .missing }
      do throws(TransportError) {
        return try await UpdateCheck(
          transport: transport.sending(request.credential, to: request.request.url),
          options: request.transport
        )
        .state(of: record.head, request.request)
      } catch {
        throw .transport(error)
      }
    } catch {
      throw DownloadError(error, url: url, path: path)
    }
  }
}

/// Compares a copy with what the server has.
private struct UpdateCheck {
  let transport: any HTTPTransport
  let options: TransportOptions

  func state(
    of copy: HTTPResponseHead, _ request: HTTPRequest
  ) async throws(TransportError) -> UpdateState {
    var request = request
    request.method = .head
    request.fields.removeAll(named: "Range")
    request = request.confirming(copy.fields)
    let end = options.wholeTimeout.map { ContinuousClock.now + $0 }
    var head = try await send(request, end)
    // There are servers that know no HEAD, and some that forbid it; those that want credentials, or
    // to be left alone, say the same to a GET.
    if head.status == 501 || (400...499).contains(head.status),
      ![401, 407, 429].contains(head.status)
    {
      request.method = .get
      head = try await send(request, end)
    }
    switch head.status {
    case 304: return .current
    case 200...299, copy.status: return UpdateState(comparing: copy.fields, head.fields)
    default: return .refused(status: head.status)
    }
  }

  /// Sends a request, follows its redirects, and lets go of the body; all before the end.
  private func send(
    _ request: HTTPRequest, _ end: ContinuousClock.Instant?
  ) async throws(TransportError) -> HTTPResponseHead {
    var options = options
    let asked = request.url
    var request = request
    for _ in 0..<20 {
      if let end { options.wholeTimeout = max(.milliseconds(1), end - .now) }
      let answer = try await transport.send(request, options: options)
      answer.body.cancel()
      guard
        let (next, _) = try Redirection.next(
          after: answer.head, to: request, nil, allowsInsecure: options.allowsInsecureRedirects)
      else {
        return answer.head
      }
      request = next
    }
    throw TransportError(
      .protocolViolation, url: asked.string, detail: "more than 20 redirects")
  }
}

extension UpdateState {
  /// Compares the validators of two answers (RFC 9110, section 8.8).
  init(comparing copy: HTTPFields, _ other: HTTPFields) {
    func tag(_ fields: HTTPFields) -> EntityTag? {
      fields.first(named: "ETag").flatMap { EntityTag($0.value) }
    }
    if let old = tag(copy), let new = tag(other) {
      self = old.matchesWeakly(new) ? .current : .changed
    } else if let old = copy.first(named: "Last-Modified"),
      let new = other.first(named: "Last-Modified")
    {
      self = old.value == new.value ? .current : .changed
    } else {
      self = .unknown
    }
  }
}
