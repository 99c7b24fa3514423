import HTTPSemantics

/// The result of the cache for an answer, as it is counted.
enum AnswerOutcome: Int, Sendable, CaseIterable {
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
  case error

  /// Determines the outcome of an answer that is not one of the proxy's own pages.
  fileprivate init(_ source: AnswerSource, _ status: CacheStatus?) {
    switch source {
    case .proxy: self = .error
    case .tunnel: self = .bypass
    case .network:
      switch status?.forwarded {
      case nil, .bypass, .method: self = .bypass
      default: self = .miss
      }
    case .memory, .disk, .substitute:
      if let status, status.forwarded != nil {
        self = status.forwardStatus == 304 ? .revalidated : .stale
      } else {
        self = status?.isHit == true && (status?.ttl ?? 0) < 0 ? .stale : .hit
      }
    }
  }
}

extension AnswerRecord {
  typealias Account = (outcome: AnswerOutcome, fetchedBytes: UInt64)

  /// The outcome by which the answer is counted, and the bytes that the origin sent for it; `nil`
  /// for the proxy's own pages, which are not counted.
  var account: Account? {
    // The status pages are recorded by their paths.
    if source == .proxy, (100..<400).contains(status) || url.hasPrefix(TargetRouter.pages) {
      return nil
    }
    let isCollapsed = cacheStatus?.isCollapsed == true && cacheStatus?.forwarded != nil
    let isFetched = source == .tunnel || (source == .network && !isCollapsed)
    return (AnswerOutcome(source, cacheStatus), isFetched ? bytesSent : 0)
  }
}

extension CacheStatus {
  /// The reason why the request was forwarded; `nil` if it was not.
  fileprivate var forwarded: Forward? { isHit ? nil : forward }
}
