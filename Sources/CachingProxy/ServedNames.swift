import HTTPSemantics

/// The names under which a server is reached; what is asked of it under another name is refused.
///
/// A web page elsewhere can have its own name resolve to an address that this server listens at, and then
/// read with the browser of somebody here whatever is served under that name (DNS rebinding).
struct ServedNames: Sendable, Hashable {
  /// Where the server listens, with the port that is bound.
  let address: ListenAddress
  /// Further names, in lower case, with any port: who stands in front may listen at another one.
  private let hosts: Set<String>
  /// The values of `Host` that nearly all requests have, so that no URL is made of them.
  private let usual: [[UInt8]]

  /// Makes the names of a server.
  ///
  /// - Parameters:
  ///   - isLoopback: whether only programs of this machine can connect.
  ///   - hosts: further names. Beyond loopback, a server without any is reached under every name, which is
  ///     nil: nobody but its owner knows them.
  init?(_ address: ListenAddress, isLoopback: Bool, hosts: [String]) {
    guard isLoopback || !hosts.isEmpty else { return nil }
    self.address = address
    self.hosts = Set(hosts.map { $0.lowercased() })
    usual = ["127.0.0.1", "localhost", "[::1]"].map { Array("\($0):\(address.port)".utf8) }
  }

  /// Tells whether a request for this authority, a host and perhaps a port, is served.
  func contains(_ authority: [UInt8]) -> Bool {
    if usual.contains(authority) { return true }
    guard let url = Self.url(authority) else { return false }
    if hosts.contains(url.host) { return true }
    return url.port == Int(address.port)
      && (url.isLoopback || url.host == Self.url(Array(address.description.utf8))?.host)
  }

  private static func url(_ authority: [UInt8]) -> NormalizedURL? {
    try? NormalizedURL("http://\(String(decoding: authority, as: UTF8.self))/")
  }
}
