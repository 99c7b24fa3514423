extension URLRequest {
  /// Returns the request that follows a redirect, or `nil` if the response is none that can be
  /// followed. A request to another origin loses all fields that may be credentials.
  ///
  /// - Throws: `insecureRedirect` for a redirect from `https` to `http` that is not allowed.
  func redirected(
    by response: HTTPURLResponse, _ asked: AskedRequest, allowsInsecure: Bool
  ) throws(TransportError) -> URLRequest? {
    guard let location = response.value(forHTTPHeaderField: "Location") else { return nil }
    let head = HTTPResponseHead(
      status: response.statusCode, fields: [HTTPField("Location", location)])
    guard
      let (next, _) = try Redirection.next(
        after: head, to: asked.request, nil, allowsInsecure: allowsInsecure),
      let url = URL(string: next.url.string)
    else { return nil }
    var request = self
    request.url = url
    request.httpMethod = next.method.rawValue
    let kept = Set(next.fields.map { $0.name.lowercased() })
    for name in (allHTTPHeaderFields ?? [:]).keys where !kept.contains(name.lowercased()) {
      request.setValue(nil, forHTTPHeaderField: name)
    }
    return request
  }
}
