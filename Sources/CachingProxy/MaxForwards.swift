import HTTPSemantics

extension RequestHead {
  /// Decrements the number of times that `OPTIONS` and `TRACE` may be forwarded (RFC 9110, section
  /// 7.6.2). It has no meaning for other methods.
  ///
  /// - Returns: The answer to a request that must not be forwarded.
  mutating func countForward() -> ProxyAnswer? {
    guard ["OPTIONS", "TRACE"].contains(method.rawValue),
      let count = fields.first(named: "Max-Forwards").flatMap({ UInt32($0.text) })
    else { return nil }
    // Repeating the request, as the last recipient of a TRACE may do, would reveal what the servers
    // in between have added to it.
    guard count > 0 else {
      return method.rawValue == "OPTIONS" ? OwnAnswers.capabilities() : OwnAnswers.noTrace()
    }
    fields.replace(with: HTTPField("Max-Forwards", String(count - 1)))
    return nil
  }
}
