import CacheSystem

// Files that ship with the program and answer for URLs.
extension CachingClient {
  /// Answers with a substitute; `nil` if the request has none, or it must not answer.
  ///
  /// Blocks on the disk. Without a table it costs nothing.
  ///
  /// - Parameter isLastResort: Whether there is no other answer, so that a newer stored response
  ///   does not matter.
  func substitute(
    for request: HTTPRequest, hasBody: Bool = false, _ policy: CachePolicy,
    isLastResort: Bool = false
  ) -> ClientResponse? {
    guard let substitutes = options.substitutes, !hasBody, Self.allows(request, policy),
      let (file, rule) = substitutes.open(request.url)
    else { return nil }
    let now = now.date
    if rule.yieldsToNewer, !isLastResort, let stored = cache.lastChanged(request),
      stored > modified(file, now)
    {
      return nil
    }
    return answer(request, file, rule: rule, digests: substitutes.digests, now: now)
  }

  /// Returns whether a request accepts an answer that is not the origin's.
  private static func allows(_ request: HTTPRequest, _ policy: CachePolicy) -> Bool {
    guard request.method == .get || request.method == .head else { return false }
    switch policy {
    case .reload, .reloadFromOrigin, .revalidate: return false
    case .protocolRules:
      let directives = RequestDirectives(request.fields)
      if directives.noCache || directives.noStore { return false }
    case .storedElseLoad, .storedOnly, .offline: break
    }
    // As for stored responses, only the origin evaluates these (RFC 9111, section 4.3.2).
    return !request.fields.contains("If-Match") && !request.fields.contains("If-Unmodified-Since")
  }

  /// Returns when a file was changed, at most now (RFC 9110, section 8.8.2.1).
  private func modified(_ file: SubstituteFile, _ now: HTTPDate) -> HTTPDate {
    min(Timestamp(nanoseconds: file.status.modified).date, now)
  }

  private func answer(
    _ request: HTTPRequest, _ file: SubstituteFile, rule: SubstituteRule,
    digests: SubstituteDigests, now: HTTPDate
  ) -> ClientResponse? {
    let length = file.status.length
    var content: [UInt8]?
    let tag: String
    do throws(SystemError) {
      if length <= UInt64(ResponseCache.smallBody) {
        content = try file.read(at: 0, count: Int(length))
      }
      tag = try digests.tag(of: file, content)
    } catch {
      options.substitutes?.tell(file.path, error, SubstitutePlace(subject: rule.pattern, line: nil))
      return nil
    }
    var head = HTTPResponseHead(
      status: 200,
      fields: [
        HTTPField("Content-Type", rule.mediaType ?? MediaTypes.type(ofFile: file.path)),
        HTTPField("Content-Length", String(length)),
        HTTPField("Date", now.description),
        HTTPField("Last-Modified", modified(file, now).description),
        HTTPField("ETag", tag),
        HTTPField("Accept-Ranges", "bytes"),
        HTTPField("Cache-Control", rule.cacheControl),
      ])
    let range = part(of: length, &head, request, now)
    var status = CacheStatus(cacheName: options.cacheName, isHit: true)
    status.ttl = rule.seconds
    status.detail = "substitute"
    var response = ClientResponse(
      request: request, head: head, source: .substitute, reason: nil, cacheStatus: status,
      entry: nil,
      body: body(
        of: file, content: content, range: request.method == .head ? 0..<0 : range,
        url: request.url.string))
    response.substituteLength = length
    return response
  }

  /// Evaluates conditions and ranges as for a stored response. Completes the head, and returns the
  /// part of the content to send.
  private func part(
    of length: UInt64, _ head: inout HTTPResponseHead, _ request: HTTPRequest, _ now: HTTPDate
  ) -> Range<UInt64> {
    let response = StoredResponse(
      status: 200, fields: head.fields, requestTime: now, responseTime: now, selection: .none,
      bodyDate: head.fields.date(now: now), rules: options.rules)
    if Preconditions.isNotModified(response, for: request, now: now) {
      head.status = 304
      head.fields = Preconditions.notModifiedFields(of: head.fields)
      return 0..<0
    }
    let answer = RangeAnswer.answer(to: request, from: response, length: length, now: now)
    return head.limit(to: answer, completeLength: length) ?? 0..<length
  }

  private func body(
    of file: SubstituteFile, content: [UInt8]?, range: Range<UInt64>, url: String
  ) -> ResponseBody {
    if range.isEmpty { return ResponseBody(BytesSource([]), .bytes([])) { .fromStore } }
    if let content {
      let bytes =
        range.count == content.count
        ? content : Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
      return ResponseBody(BytesSource(bytes), .bytes(bytes)) { .fromStore }
    }
    let source = FileSource(range, asyncStore, url: url) { offset, count, _ throws(ClientError) in
      try file.piece(at: offset, count: count, url: url)
    }
    return ResponseBody(source, .stream(length: UInt64(range.count))) { .fromStore }
  }
}

extension SubstituteFile {
  /// Reads a piece of a body. If the file is changed while it is read, reading ends with an error,
  /// so no body has bytes of two versions.
  fileprivate func piece(
    at offset: UInt64, count: Int, url: String
  ) throws(ClientError) -> [UInt8] {
    do throws(SystemError) {
      return try read(at: offset, count: count)
    } catch {
      let cause =
        error == .wrongLength ? "it was changed while it was read" : "it cannot be read: \(error)"
      let failure = StoreError(
        .inputOutput, path: path, offset: offset, errno: error.code, cause: cause,
        remedy: "check who writes to it")
      throw ClientError(.store(failure), url: url)
    }
  }
}
