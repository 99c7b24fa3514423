package import HTTPSemantics

/// The rules for following a redirect (RFC 9110, section 15.4), as pure functions.
package enum Redirection {
  /// The fields that describe a body.
  private static let content = [
    "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Length",
    "Content-Digest", "Content-MD5", "Digest", "Repr-Digest", "Transfer-Encoding", "Expect",
  ]

  /// Returns the request to send next, or `nil` if the answer is not a redirect that can be
  /// followed.
  ///
  /// - Parameters:
  ///   - repeated: The body from its beginning, if it can be sent again.
  ///   - allowsInsecure: Whether a redirect from `https` to `http` is followed.
  /// - Throws: `insecureRedirect` for a redirect from `https` to `http` that is not allowed.
  package static func next(
    after head: HTTPResponseHead, to request: HTTPRequest, _ body: RequestBody?,
    _ repeated: RepeatedBody? = nil, allowsInsecure: Bool
  ) throws(TransportError) -> (HTTPRequest, RequestBody?)? {
    guard case .success(let url) = target(of: head, from: request.url) else { return nil }
    guard allowsInsecure || request.url.scheme != .https || url.scheme == .https else {
      throw TransportError(
        .insecureRedirect, url: request.url.string, detail: "to \(url.string)")
    }
    var next = request
    var nextBody = body
    next.url = url
    let isSafe = request.method == .get || request.method == .head
    if !isSafe, losesMethod(head.status, request.method) {
      next.method = .get
      nextBody = nil
      for name in content { next.fields.removeAll(named: name) }
    }
    // A stream has already been read.
    if case .stream = nextBody {
      guard let repeated else { return nil }
      nextBody = repeated.body
    }
    if !url.isSameOrigin(as: request.url) {
      next.fields = HTTPFields(
        next.fields.filter { HTTPFields.harmless.contains($0.name.lowercased()) })
    }
    return (next, nextBody)
  }

  /// Returns why a redirect cannot be followed: its `Location` is not a URL that can be fetched,
  /// such as
  /// `file:`. Returns `nil` for all other answers, also for a redirect without `Location`.
  package static func fault(_ head: HTTPResponseHead, from url: NormalizedURL) -> InvalidURL? {
    guard case .failure(let error) = target(of: head, from: url) else { return nil }
    return error
  }

  /// Returns the target of a redirect or why it is invalid, or `nil` for other answers.
  private static func target(
    of head: HTTPResponseHead, from url: NormalizedURL
  ) -> Result<NormalizedURL, InvalidURL>? {
    guard [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields.first(named: "Location")
    else { return nil }
    return Result { () throws(InvalidURL) in try url.resolving(location.reference) }
  }

  /// Returns whether the next request is a `GET`: after a 303, and after a 301 or 302 for a `POST`,
  /// as all browsers do it.
  private static func losesMethod(_ status: Int, _ method: HTTPMethod) -> Bool {
    status == 303 || (status == 301 || status == 302) && method == .post
  }
}
