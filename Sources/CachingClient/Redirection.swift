import HTTPSemantics
import HTTPTransport

/// Decides how a redirect is followed (RFC 9110, section 15.4).
enum Redirection {
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
    guard [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields.first(named: "Location"),
      let url = try? request.url.resolving(location.text)
    else { return nil }
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

  /// Returns where a redirect leads that cannot be followed, because it is no URL to fetch, such as
  /// `file:`, without credentials and cut if it is long; nil for other answers. One without any
  /// `Location` is an answer like others.
  static func unusableLocation(_ head: HTTPResponseHead, of request: HTTPRequest) -> String? {
    guard [301, 302, 303, 307, 308].contains(head.status),
      let location = head.fields.first(named: "Location")
    else { return nil }
    do throws(InvalidURL) {
      _ = try request.url.resolving(location.text)
      return nil
    } catch {
      return error.url
    }
  }

  /// 303 asks for `GET`; after 301 and 302 a `POST` becomes one, as everybody does it.
  private static func losesMethod(_ status: Int, _ method: HTTPMethod) -> Bool {
    status == 303 || (status == 301 || status == 302) && method.rawValue == "POST"
  }
}
