/// Finds what a change at the origin makes useless in a cache (RFC 9111, section 4.4).
public enum Invalidation {
  /// Tells whether a method is known to change nothing (RFC 9110, section 9.2.1, and the registry
  /// of methods); names that are not known count as unsafe.
  public static func isSafe(_ method: HTTPMethod) -> Bool {
    switch method.rawValue {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": true
    default: false
    }
  }

  /// Returns the URLs whose stored responses must not be used again without validation: the target
  /// itself and, of the same origin only, those in `Location` and `Content-Location`.
  ///
  /// It is empty for safe methods and for all but 2xx and 3xx: an error has changed nothing.
  public static func targets(
    of request: HTTPRequest, answered head: HTTPResponseHead
  ) -> [NormalizedURL] {
    guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
    var targets = [request.url]
    for name in ["Location", "Content-Location"] {
      guard let field = head.fields.first(named: name),
        let url = try? request.url.resolving(field.text),
        // One origin must not empty the cache of another.
        url.isSameOrigin(as: request.url), !targets.contains(url)
      else { continue }
      targets.append(url)
    }
    return targets
  }
}
