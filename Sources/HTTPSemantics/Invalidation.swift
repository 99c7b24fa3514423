/// Invalidation of stored responses after a change at the origin (RFC 9111, section 4.4).
public enum Invalidation {
  /// Returns whether a method is known to be safe (RFC 9110, section 9.2.1, and the registry of
  /// methods); an unknown method is unsafe.
  public static func isSafe(_ method: HTTPMethod) -> Bool {
    switch method.rawValue {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": true
    default: false
    }
  }

  /// Returns the URLs whose stored responses must not be used again without validation: the target,
  /// and the URLs in `Location` and `Content-Location` if they have the same origin.
  ///
  /// The result is empty for safe methods and for all statuses except 2xx and 3xx, because an error
  /// changes nothing.
  public static func targets(
    of request: HTTPRequest, answered head: HTTPResponseHead
  ) -> [NormalizedURL] {
    guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
    var targets = [request.url]
    for name in ["Location", "Content-Location"] {
      guard let field = head.fields.first(named: name),
        let url = try? request.url.resolving(field.reference),
        // An origin must not invalidate the responses of another one.
        url.isSameOrigin(as: request.url), !targets.contains(url)
      else { continue }
      targets.append(url)
    }
    return targets
  }
}
