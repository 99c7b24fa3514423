import HTTPSemantics

/// Decides what the target of a request means (RFC 9112, section 3.2).
struct TargetRouter: Sendable {
  /// Says who answers.
  enum Route: Hashable {
    /// An origin server does, for this URL.
    case forward(NormalizedURL)
    /// The proxy does, with a page of its own.
    case page(path: String)
    /// The proxy does: `OPTIONS *` asks what it can do as a whole.
    case capabilities
  }

  /// The paths that the proxy answers itself begin with this.
  static let pages = "/.offlinecache"

  /// The server behind a reverse proxy; nil for a forward proxy.
  let origin: NormalizedURL?

  /// Tells whether only programs of this machine can connect.
  ///
  /// The pages, which show what was fetched, are then for requests that name this machine or an
  /// address: a web page elsewhere could have its own name resolve to this machine, and read them
  /// with the browser of somebody here.
  var isLocal = false

  /// Finds out who answers a request.
  ///
  /// - Throws: ``RequestRefusal``: 400 for what makes no sense here, 501 for what is not done.
  func route(_ head: RequestHead) throws(RequestRefusal) -> Route {
    if head.method.rawValue == "CONNECT" {
      throw RequestRefusal(
        501, "this proxy opens no tunnels, so it is for http alone; leave it out for https")
    }
    if head.target == "*" {
      guard head.method.rawValue == "OPTIONS" else {
        throw RequestRefusal(400, "the target * is for OPTIONS alone")
      }
      return .capabilities
    }
    if head.target.hasPrefix("/") { return try route(path: head.target, head) }
    let url = try absolute(head.target)
    // Behind a reverse proxy there is one server, whatever name the client knows it by.
    return origin == nil ? .forward(url) : try route(path: url.target, head)
  }

  /// Finds out who answers for a path of this server.
  private func route(path: String, _ head: RequestHead) throws(RequestRefusal) -> Route {
    if path.hasPrefix(Self.pages) {
      let plain = path.prefix { $0 != "?" }
      if plain == Self.pages || plain.hasPrefix(Self.pages + "/") {
        guard !isLocal || Self.isLocalName(head) else {
          throw RequestRefusal(
            403, "the pages are for this machine alone; open them at its address or at localhost")
        }
        return .page(path: String(plain))
      }
    }
    guard let origin else {
      throw RequestRefusal(
        400,
        "this is a forward proxy, which takes whole URLs; set it as http_proxy, or start it with --origin"
      )
    }
    return .forward(try Self.url(path, below: origin))
  }

  /// Tells whether a request names this machine: by an address, or as `localhost` (RFC 6761,
  /// section 6.3).
  private static func isLocalName(_ head: RequestHead) -> Bool {
    guard let host = head.fields.first(named: "Host")?.text,
      let url = try? NormalizedURL("http://\(host)/")
    else { return false }
    return url.host.hasPrefix("[") || url.host == "localhost" || url.host.hasSuffix(".localhost")
      || url.host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
  }

  /// Puts a path below that of the origin, which it cannot leave by dot segments.
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
    guard url.scheme == .http else {
      throw RequestRefusal(501, "this proxy fetches http alone; ask https servers directly")
    }
    return url
  }
}
