import HTTPSemantics

/// Determines the meaning of a request target (RFC 9112, section 3.2).
struct TargetRouter: Sendable {
  /// The party that answers a request.
  enum Route: Hashable {
    /// An origin server, for this URL.
    case forward(NormalizedURL)
    /// The proxy, with one of its own pages.
    case page(path: String, query: String = "")
    /// The proxy itself: `OPTIONS *` asks for its capabilities.
    case capabilities
  }

  /// The beginning of the paths that the proxy itself answers.
  static let pages = "/.offlinecache"

  /// The server behind a reverse proxy; `nil` for a forward proxy.
  let origin: NormalizedURL?

  /// The names under which this server answers for itself and its origin; `nil` for all names.
  var names: ServedNames?

  /// Returns who answers a request.
  ///
  /// - Throws: ``RequestRefusal``: 400 for an invalid target, 421 for a name that is not served,
  ///   501 for a method that is not supported.
  func route(_ head: RequestHead) throws(RequestRefusal) -> Route {
    if head.method.rawValue == "CONNECT" {
      throw RequestRefusal(
        501,
        origin == nil
          ? "a CONNECT must be the first request of its connection"
          : "this is a reverse proxy, which opens no tunnels")
    }
    if head.target == "*" {
      guard head.method.rawValue == "OPTIONS" else {
        throw RequestRefusal(400, "the target * is for OPTIONS alone")
      }
      return .capabilities
    }
    if head.target.hasPrefix("/") { return try route(path: head.target, head) }
    let url = try absolute(head.target)
    // A reverse proxy has one server, whatever name the client uses for it. A browser that sends
    // everything to a forward proxy asks for the proxy's own pages like this.
    if origin != nil || names?.isOwn(url) == true { return try route(path: url.target, head) }
    return .forward(url)
  }

  /// Returns who answers a request for a path of this server.
  private func route(path: String, _ head: RequestHead) throws(RequestRefusal) -> Route {
    if path.hasPrefix(Self.pages) {
      let plain = path.prefix { $0 != "?" }
      if plain == Self.pages || plain.hasPrefix(Self.pages + "/") {
        try checkName(head)
        return .page(path: String(plain), query: String(path[plain.endIndex...].dropFirst()))
      }
    }
    guard let origin else {
      throw RequestRefusal(
        400,
        "this is a forward proxy, which takes whole URLs; set it as http_proxy, or start it with --origin"
      )
    }
    try checkName(head)
    return .forward(try Self.url(path, below: origin))
  }

  /// Throws for a request under a name that is not served (RFC 9110, section 7.4).
  ///
  /// A request of HTTP/1.0 without a name is accepted: browsers always send one.
  private func checkName(_ head: RequestHead) throws(RequestRefusal) {
    guard let names, let authority = Self.authority(of: head) else { return }
    guard names.contains(authority) else {
      throw RequestRefusal(
        421,
        "the requested host is not served here; request \(names.base), or start the "
          + "server with --host and that name")
    }
  }

  /// Returns whether a request comes from a page of this server, by what the browser says.
  func isOwnPage(asking head: RequestHead) -> Bool {
    guard let names, let origin = head.fields.first(named: "Origin")?.text,
      let page = try? NormalizedURL(origin), page.target == "/",
      let asked = Self.authority(of: head)
    else { return false }
    let own = "\(page.scheme.rawValue)://\(String(decoding: asked, as: UTF8.self))/"
    return names.scheme == page.scheme && (try? NormalizedURL(own)) == page
  }

  /// Returns the host and port that a client has asked for: those of an absolute URL, or else those
  /// of `Host` (RFC 9112, section 3.2.2).
  private static func authority(of head: RequestHead) -> [UInt8]? {
    if head.target.hasPrefix("/") { return head.fields.first(named: "Host")?.value }
    guard let url = try? NormalizedURL(head.target) else { return nil }
    let port = url.port == url.scheme.defaultPort ? "" : ":\(url.port)"
    return Array("\(url.host)\(port)".utf8)
  }

  /// Returns the host and port that a client of a reverse proxy has asked for, or `nil` if they
  /// have not been checked against a list of names.
  ///
  /// - Precondition: The request has been routed.
  func checkedAuthority(of head: RequestHead) -> String? {
    names == nil ? nil : Self.authority(of: head).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Appends a path to that of the origin. Dot segments cannot lead out of the origin's path.
  private static func url(
    _ path: String, below origin: NormalizedURL
  ) throws(RequestRefusal) -> NormalizedURL {
    do throws(InvalidURL) {
      let plain = try origin.replacingTarget(path)
      guard origin.target != "/" else { return plain }
      let base = origin.target.hasSuffix("/") ? origin.target.dropLast() : origin.target[...]
      return try origin.replacingTarget(base + plain.target)
    } catch {
      throw RequestRefusal(400, "the target cannot be understood")
    }
  }

  private func absolute(_ target: String) throws(RequestRefusal) -> NormalizedURL {
    let url: NormalizedURL
    do throws(InvalidURL) {
      url = try NormalizedURL(target)
    } catch {
      throw RequestRefusal(400, "the target is neither a path nor an http URL")
    }
    guard url.scheme == .http || origin != nil else {
      throw RequestRefusal(501, "this proxy fetches http alone; ask https servers directly")
    }
    return url
  }
}
