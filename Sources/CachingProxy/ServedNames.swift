import HTTPSemantics

/// The names under which a server is reached. Requests under other names are refused.
///
/// A foreign web page can make its own name resolve to an address at which this server listens, and
/// then read, in the browser of a local user, everything that is served under that name (DNS
/// rebinding).
struct ServedNames: Sendable, Hashable {
  /// The address at which the server listens, with the bound port.
  let address: ListenAddress
  /// Further names, in lower case. They are valid with any port, because a proxy in front may have
  /// another one.
  private let hosts: Set<String>
  let scheme: NormalizedURL.Scheme
  /// The values of `Host` that nearly all requests have. They are compared without creating a URL.
  private let usual: [[UInt8]]

  /// Creates the names of a server.
  ///
  /// - Parameters:
  ///   - isLoopback: Whether only programs on this machine can connect.
  ///   - hosts: Further names. Without any, a server beyond loopback is reached under every name,
  ///     and the result is `nil`, because only its owner knows its names.
  init?(
    _ address: ListenAddress, isLoopback: Bool, hosts: [String],
    scheme: NormalizedURL.Scheme = .http
  ) {
    guard isLoopback || !hosts.isEmpty else { return nil }
    self.address = address
    self.scheme = scheme
    self.hosts = Set(hosts.map { $0.lowercased() })
    usual = ["127.0.0.1", "localhost", "[::1]"].map { Array("\($0):\(address.port)".utf8) }
  }

  /// Returns whether a request for this authority, a host with or without a port, is served.
  func contains(_ authority: [UInt8]) -> Bool {
    if usual.contains(authority) { return true }
    guard let url = url(authority) else { return false }
    return hosts.contains(url.host) || isOwn(url)
  }

  /// Returns whether a URL is one of the address at which the server listens.
  func isOwn(_ url: NormalizedURL) -> Bool {
    url.scheme == scheme && url.port == Int(address.port)
      && (url.isLoopback || url.host == self.url(Array(address.description.utf8))?.host)
  }

  var base: String { "\(scheme.rawValue)://\(address)/" }

  private func url(_ authority: [UInt8]) -> NormalizedURL? {
    try? NormalizedURL("\(scheme.rawValue)://\(String(decoding: authority, as: UTF8.self))/")
  }
}
