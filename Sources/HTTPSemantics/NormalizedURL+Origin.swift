extension NormalizedURL {
  /// Names scheme, host and port of a URL (RFC 6454, section 4).
  package struct Origin: Sendable, Hashable {
    private let scheme: Scheme
    private let host: String
    private let port: Int

    package init(_ url: NormalizedURL) {
      (scheme, host, port) = (url.scheme, url.host, url.port)
    }
  }

  /// Tells whether scheme, host and port are the same (RFC 6454, section 5).
  public func isSameOrigin(as other: NormalizedURL) -> Bool { Origin(self) == Origin(other) }
}
