package import HTTPSemantics
import HTTPTransport

/// Decides how a redirect is followed (RFC 9110, section 15.4).
package enum Redirection {
  /// Fields that are meant for one origin alone.
  private static let credentials = ["Authorization", "Cookie", "Proxy-Authorization", "Host"]
  /// Fields that describe a body.
  private static let content = [
    "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Length",
    "Transfer-Encoding", "Expect",
  ]

  /// Returns the request to send next; nil if the answer is no redirect that can be followed.
  ///
  /// - Parameter repeated: Gives the body once more, where it can be had.
  static func next(
    after head: HTTPResponseHead, to request: HTTPRequest, _ body: RequestBody?,
    _ repeated: RepeatedBody? = nil
  ) -> (HTTPRequest, RequestBody?)? {
    guard case .success(let url) = target(of: head, from: request.url) else { return nil }
    var next = request
    var nextBody = body
    next.url = url
    let isSafe = request.method == .get || request.method == .head
    if !isSafe, losesMethod(head.status, request.method) {
      next.method = .get
      nextBody = nil
      for name in content { next.fields.removeAll(named: name) }
    }
    // A stream has been read already.
    if case .stream = nextBody {
      guard let repeated else { return nil }
      nextBody = repeated.body
    }
    if !url.isSameOrigin(as: request.url) {
      for name in credentials { next.fields.removeAll(named: name) }
    }
    return (next, nextBody)
  }

  /// Returns why a redirect cannot be followed: it leads to what is no URL to fetch, such as `file:`; nil
  /// for other answers. One without any `Location` is an answer like others.
  package static func fault(_ head: HTTPResponseHead, from url: NormalizedURL) -> InvalidURL? {
    guard case .failure(let error) = target(of: head, from: url) else { return nil }
    return error
  }

  /// Returns where a redirect leads, or why nobody can go there; nil for other answers.
  private static func target(
    of head: HTTPResponseHead, from url: NormalizedURL
  ) -> Result<NormalizedURL, InvalidURL>? {
    guard [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields.first(named: "Location")
    else { return nil }
    return Result { () throws(InvalidURL) in try url.resolving(location.text) }
  }

  /// 303 asks for `GET`; after 301 and 302 a `POST` becomes one, as everybody does it.
  private static func losesMethod(_ status: Int, _ method: HTTPMethod) -> Bool {
    status == 303 || (status == 301 || status == 302) && method.rawValue == "POST"
  }
}
