extension NormalizedURL {
  /// The scheme, host and port of a URL (RFC 6454, section 4).
  package struct Origin: Sendable, Hashable {
    private let scheme: Scheme
    private let host: String
    private let port: Int

    package init(_ url: NormalizedURL) {
      (scheme, host, port) = (url.scheme, url.host, url.port)
    }
  }

  /// Returns whether scheme, host and port are the same (RFC 6454, section 5).
  public func isSameOrigin(as other: NormalizedURL) -> Bool { Origin(self) == Origin(other) }

  /// Whether the host is this machine, by name or address (RFC 6761, section 6.3; RFC 1122, section
  /// 3.2.1.3; RFC 4291, section 2.5.3), so that no network is needed to reach it.
  package var isLoopback: Bool {
    let name = host.last == "." ? host.dropLast() : host[...]
    if name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" { return true }
    return name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39) ~= $0 }
  }
}
