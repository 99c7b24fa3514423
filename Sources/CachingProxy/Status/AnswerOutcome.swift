import HTTPSemantics

/// The result of the cache for an answer, as it is counted.
enum AnswerOutcome: Sendable, CaseIterable {
  /// The answer came from the store, fresh, without asking the origin.
  case hit
  /// The answer came from the store past its freshness, which was allowed, or because the origin
  /// failed.
  case stale
  /// The answer came from the store after the origin confirmed it with a 304.
  case revalidated
  /// The answer came from the origin, though a cache could have answered.
  case miss
  /// The answer came from the origin, because no cache may answer such a request.
  case bypass
  /// The answer is an error of the proxy itself.
  case error

  /// Determines the outcome of an answer that is not one of the proxy's own pages.
  fileprivate init(_ source: AnswerSource, _ said: SaidByCache) {
    switch source {
    case .proxy: self = .error
    case .tunnel: self = .bypass
    case .network: self = said.isBypassed || !said.isForwarded ? .bypass : .miss
    case .memory, .disk, .substitute:
      if said.isHit {
        self = said.isPastFreshness ? .stale : .hit
      } else if said.isForwarded {
        self = said.isConfirmed ? .revalidated : .stale
      } else {
        self = .hit
      }
    }
  }
}

extension AnswerRecord {
  typealias Account = (outcome: AnswerOutcome, fetchedBytes: UInt64)

  /// The outcome by which the answer is counted, and the bytes that the origin sent for it; `nil`
  /// for the proxy's own pages, which are not counted.
  ///
  /// - Complexity: O(length of the Cache-Status)
  var account: Account? {
    if source == .proxy && ((100..<400).contains(status) || isOwnPage) { return nil }
    let said = SaidByCache(cacheStatus)
    let isFetched = source == .tunnel || (source == .network && !said.isCollapsed)
    return (AnswerOutcome(source, said), isFetched ? bytesSent : 0)
  }

  /// Whether the path is one of the status pages. Requests for them are not counted.
  fileprivate var isOwnPage: Bool { url.contains(StatusPaths.folder) }
}

/// The contents of the last member of a Cache-Status field (RFC 9211, section 2), which is that of
/// the cache nearest to the client.
private struct SaidByCache {
  var isHit = false
  var isPastFreshness = false
  var isForwarded = false
  var isBypassed = false
  var isConfirmed = false
  var isCollapsed = false

  init(_ field: String) {
    field.withUTF8Span { read($0) }
  }

  private mutating func read(_ bytes: Span<UInt8>) {
    var start = 0
    var index = 0
    var isQuoted = false
    while index < bytes.count {
      let byte = bytes[index]
      if isQuoted {
        // A backslash escapes the next byte, even a quotation mark.
        if byte == UInt8(ascii: "\\") { index += 1 }
        if byte == UInt8(ascii: "\"") { isQuoted = false }
      } else if byte == UInt8(ascii: "\"") {
        isQuoted = true
      } else if byte == UInt8(ascii: ";") {
        take(bytes.extracting(start..<index))
        start = index + 1
      } else if byte == UInt8(ascii: ",") {
        self = SaidByCache("")
        start = index + 1
      }
      index += 1
    }
    take(bytes.extracting(min(start, bytes.count)..<bytes.count))
  }

  /// Records one parameter; there may be white space around it.
  private mutating func take(_ parameter: Span<UInt8>) {
    var parameter = parameter
    while parameter.count > 0, parameter[0] == UInt8(ascii: " ") {
      parameter = parameter.extracting(1..<parameter.count)
    }
    if parameter.isEqual("hit") {
      isHit = true
    } else if parameter.begins("ttl=-") {
      isPastFreshness = true
    } else if parameter.begins("fwd=") {
      isForwarded = true
      isBypassed = parameter.isEqual("fwd=bypass") || parameter.isEqual("fwd=method")
    } else if parameter.isEqual("fwd-status=304") {
      isConfirmed = true
    } else if parameter.isEqual("collapsed") {
      isCollapsed = true
    }
  }
}

extension Span<UInt8> {
  fileprivate func begins(_ text: StaticString) -> Bool {
    guard count >= text.utf8CodeUnitCount else { return false }
    // Safety: the literal lives as long as the program, and has that many bytes.
    let wanted = unsafe UnsafeBufferPointer(
      start: text.utf8Start, count: text.utf8CodeUnitCount)
    for index in 0..<wanted.count where unsafe self[index] != wanted[index] { return false }
    return true
  }

  fileprivate func isEqual(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && begins(text)
  }
}
