package import HTTPSemantics
package import HTTPTransports

/// Whether a server has something newer than a copy.
public enum UpdateState: Sendable, Hashable {
  /// The server has the same.
  case current
  /// The server has something else, or the downloaded file was changed.
  case changed
  /// Unknown, because copy and server have no validator in common.
  case unknown
  /// The server refuses it: it answers with this status, which differs from that of the copy.
  case refused(status: Int)
  /// There is no copy.
  case missing
}

/// A comparison of a copy with what the server has.
package struct UpdateCheck {
  private let transport: any HTTPTransport
  private let options: TransportOptions

  /// Creates a check; the whole timeout of the options limits all of its requests together.
  package init(transport: any HTTPTransport, options: TransportOptions) {
    self.transport = transport
    self.options = options
  }

  /// Sends a `HEAD` with the validators of the copy (RFC 9110, section 13.1), or if the server does
  /// not allow that, a `GET` whose body is not read.
  ///
  /// - Parameters:
  ///   - copy: The head of the copy.
  ///   - url: The URL that gave the copy, after redirects.
  ///   - request: The request.
  package func state(
    of copy: HTTPResponseHead, from url: String, _ request: HTTPRequest
  ) async throws(TransportError) -> UpdateState {
    var request = request
    request.method = .head
    request.fields.removeAll(named: "Range")
    // A 304 would mean that the answer is 200.
    if (200...299).contains(copy.status) { request = request.confirming(copy.fields) }
    let end = options.wholeTimeout.map { ContinuousClock.now + $0 }
    var answer = try await send(request, end)
    // Some servers do not support HEAD, and some forbid it. A server that asks for credentials or
    // has too many requests would answer a GET alike.
    if answer.head.status == 501 || (400...499).contains(answer.head.status),
      ![401, 407, 429].contains(answer.head.status)
    {
      request.method = .get
      answer = try await send(request, end)
    }
    switch answer.head.status {
    case 304: return copy.isMet(from: url, by: answer) ? .current : .unknown
    case 200...299, copy.status:
      return copy.isMet(from: url, by: answer)
        ? UpdateState(comparing: copy.fields, answer.head.fields) : .unknown
    default: return .refused(status: answer.head.status)
    }
  }

  /// Sends a request, follows its redirects and discards the body, all before `end`.
  private func send(
    _ request: HTTPRequest, _ end: ContinuousClock.Instant?
  ) async throws(TransportError) -> TransportResponse {
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
        return answer
      }
      request = next
    }
    throw TransportError(
      .protocolViolation, url: asked.string, detail: "more than 20 redirects")
  }
}

extension HTTPResponseHead {
  /// Returns whether an answer with the same validator is about the same content as this head.
  ///
  /// A validator distinguishes states of one resource, but a redirect may lead to another resource.
  /// So the URLs that answered must be equal except for their queries, which differ where URLs are
  /// signed; or `Last-Modified` must be equal as well, as on a mirror.
  ///
  /// - Parameter url: The URL that gave this head.
  func isMet(from url: String, by answer: TransportResponse) -> Bool {
    func place(_ url: String) -> Substring { url.prefix { $0 != "?" } }
    let modified = fields.first(named: "Last-Modified")?.value
    return place(url) == place(answer.url.string)
      || fields.contains("ETag") && modified != nil
        && modified == answer.head.fields.first(named: "Last-Modified")?.value
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
