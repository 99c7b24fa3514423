import HTTPSemantics

/// Rewrites URLs of the origin, in `Location` and `Content-Location`, to URLs of the reverse proxy.
/// Otherwise a client would leave the proxy, or could not even reach the origin.
struct OriginReference: Sendable, Hashable {
  /// The requested URL, at the origin.
  let url: NormalizedURL
  /// The origin of the proxy, with the path that is put in front of all requests.
  let origin: NormalizedURL
  /// The beginning of the proxy's own URLs, without a slash at its end. If it is empty, references
  /// become paths.
  let address: String

  /// Returns the field for the client.
  ///
  /// A reference that does not lead to the origin, below its path, is kept. So is a relative
  /// reference, which leads to the same resource from here.
  func rewriting(_ field: HTTPField) -> HTTPField {
    let reference = field.reference
    let isPath = reference.hasPrefix("/") && !reference.hasPrefix("//")
    guard !isPath || origin.target != "/", let target = try? url.resolving(reference),
      target.isSameOrigin(as: origin), isPath || isAbsolute(reference),
      let path = path(of: target)
    else { return field }
    let fragment = reference.firstIndex(of: "#").map { reference[$0...] } ?? ""
    let start = isPath ? "" : address
    // Without a host in front of it, a path with two slashes would be read as a host.
    let dot = start.isEmpty && path.hasPrefix("//") ? "/." : ""
    return HTTPField(field.name, "\(start)\(dot)\(path)\(fragment)")
  }

  /// Returns whether a reference begins with a scheme or names a host.
  private func isAbsolute(_ reference: String) -> Bool {
    if reference.hasPrefix("//") { return true }
    let scheme = reference.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
    return reference[scheme.endIndex...].first == ":"
  }

  /// Returns the rest of the URL after the origin's path, or `nil` if the URL is elsewhere.
  private func path(of target: NormalizedURL) -> String? {
    let base = origin.target.hasSuffix("/") ? origin.target.dropLast() : origin.target[...]
    guard target.target.hasPrefix(base) else { return nil }
    let path = target.target.dropFirst(base.count)
    switch path.first {
    case "/": return String(path)
    case nil, "?": return "/\(path)"
    default: return nil
    }
  }
}
