import CacheSystem
import HTTPSemantics

/// The configuration of a transport, the same for all its transfers.
///
/// `CurlTransport` uses all of it. `URLSessionTransport` throws an error for parts that it cannot
/// use.
public struct NetworkSetup: Sendable, Hashable {
  /// The proxy for connections.
  public enum Proxy: Sendable, Hashable, CustomReflectable {
    /// The one in the environment variables `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.
    case environment
    /// This proxy: a URL of `http`, `https`, `socks5` or `socks5h` (which resolves names itself),
    /// such as `http://proxy.example:3128`. A name and password in it are sent with the scheme
    /// Basic.
    ///
    /// `except` has the hosts that are connected to directly, as in `no_proxy`: names, including
    /// all names below them, addresses, and networks such as `10.0.0.0/8`, separated by commas.
    /// `nil` means those of `no_proxy`.
    case url(String, except: String? = nil)
    /// No proxy.
    case none

    /// The setting without name and password, so that a dump of the set-up has no secret.
    public var customMirror: Mirror {
      switch self {
      case .environment: Mirror(self, children: ["environment": true])
      case .none: Mirror(self, children: ["none": true])
      case .url(let url, let except):
        Mirror(
          self, children: ["url": Self.withoutLogin(url[...]), "except": except ?? "no_proxy"])
      }
    }

    /// Returns a URL, which may have no scheme and may be invalid, without everything between its scheme
    /// and the last `@`.
    package static func withoutLogin(_ url: Substring) -> String {
      guard let at = url.lastIndex(of: "@") else { return String(url) }
      let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
      let isScheme = scheme.dropLast(3).allSatisfy {
        $0.isLetter || $0.isNumber || "+-.".contains($0)
      }
      return String((isScheme ? scheme : "") + url[url.index(after: at)...])
    }
  }

  /// The `User-Agent` for requests that have none, if default fields are added.
  public var userAgent: String

  /// The limit of the buffer for one slow reader, in bytes.
  ///
  /// With libcurl, it has at least one read; if more than 16 transfers run at once, each new one gets
  /// less, down to 8 KiB.
  public var bufferBytes: Int

  /// The limit of connections to one host. Further transfers wait for their turn, in the order of
  /// `TransportOptions.priority`.
  ///
  /// A body that is open and not read keeps its connection: a caller that keeps this many of them
  /// open and waits for one more from the same host waits forever. 0 means no limit.
  public var connectionsPerHost: Int

  /// A file of trusted certificate authorities (PEM), used instead of the system's.
  public var certificateAuthoritiesFile: String?

  /// The pins of hosts. A host that is listed here must present, over TLS, one of its pins before
  /// any byte of a request is sent. Otherwise the transfer fails with `pinMismatch`, and so does a
  /// transfer over http.
  ///
  /// The certificate must also be trusted: set ``certificateAuthoritiesFile`` to a self-signed one.
  /// The names of hosts are used in lower case, without port; an IPv6 address has its brackets.
  public var pins: [String: Set<Pin>] {
    didSet { pins = Self.normal(pins) }
  }

  /// The certificate for servers that ask for one.
  public var clientCertificate: ClientCertificate?

  /// The proxy for connections.
  public var proxy: Proxy

  /// Whether HTTP/2 is used with servers that offer it over TLS; transfers then share one
  /// connection.
  ///
  /// libcurl 7.88 lets a server send 32 MB ahead on each HTTP/2 stream, and keeps in memory what a
  /// slow reader has not read. With HTTP/1.1 the limit is ``bufferBytes``.
  public var usesHTTP2: Bool

  /// Whether the cookies that servers set are kept, in memory, and sent back to those servers (RFC
  /// 6265). Requests with their own `Cookie` do not use them.
  ///
  /// A cache above does not see the cookies: a response with `Vary: Cookie` is passed on with
  /// `Vary: *` and not stored. A response without that, and without `private`, is stored as usual.
  public var keepsCookies: Bool

  /// The limit of all connections, with those that are kept open for later requests. If there are as
  /// many, an unused one is closed for a new one; if all are used, transfers wait. 0 means no limit.
  /// Only `CurlTransport` uses it.
  package var connections = 0

  /// Addresses that replace those of names: `HOST:PORT:ADDRESS[,ADDRESS]...`, in the syntax of curl's
  /// `--resolve`. Only `CurlTransport` uses them.
  package var resolves: [String] = []

  /// Creates a set-up. The defaults suit a program that fetches from foreign servers.
  public init(
    userAgent: String = "OfflineCache", bufferBytes: Int = 256 * 1024, connectionsPerHost: Int = 64,
    certificateAuthoritiesFile: String? = nil, pins: [String: Set<Pin>] = [:],
    clientCertificate: ClientCertificate? = nil, proxy: Proxy = .environment,
    usesHTTP2: Bool = true, keepsCookies: Bool = false
  ) {
    self.userAgent = userAgent
    self.bufferBytes = bufferBytes
    self.connectionsPerHost = connectionsPerHost
    self.certificateAuthoritiesFile = certificateAuthoritiesFile
    self.pins = Self.normal(pins)
    self.clientCertificate = clientCertificate
    self.proxy = proxy
    self.usesHTTP2 = usesHTTP2
    self.keepsCookies = keepsCookies
  }

  /// Whether servers know by the set-up who asks.
  package var isForOneUser: Bool { keepsCookies || clientCertificate != nil }

  /// Whether a proxy is set.
  package var mayUseProxy: Bool {
    switch proxy {
    case .none: false
    case .url: true
    case .environment: Self.proxyVariables.contains { UserPath.environment($0)?.isEmpty == false }
    }
  }

  /// Whether connections may go through a proxy to which they are encrypted.
  package var mayEncryptProxy: Bool { mayEncryptProxy(variable: UserPath.environment) }

  package func mayEncryptProxy(variable: (String) -> String?) -> Bool {
    let urls =
      switch proxy {
      case .none: [String]()
      case .url(let url, _): [url]
      case .environment: Self.proxyVariables.compactMap(variable)
      }
    return urls.contains { $0.lowercased().hasPrefix("https:") }
  }

  private static let proxyVariables = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
  ]

  /// The reason why no transport can be made with this set-up, or `nil`. A pin for an invalid host name
  /// would never be checked. With a proxy of another scheme no server could be reached, and stored
  /// responses would be used for ever.
  package var fault: TransportError? {
    if let name = pins.keys.first(where: { !Self.isHost($0) }) {
      return TransportError(
        .invalidSetup, url: "https:",
        detail: "a pin is for '\(name)', which is no host such as example.org")
    }
    guard case .url(let url, _) = proxy, let end = url.firstRange(of: "://")?.lowerBound,
      !Self.proxySchemes.contains(url[..<end].lowercased())
    else { return nil }
    // The text is not shown, as it may have a password.
    return TransportError(
      .invalidSetup, url: "https:",
      detail: "the scheme of the proxy's URL is none of http, https, socks5 and socks5h")
  }

  /// The schemes of proxies: those that are documented, and the older ones that libcurl knows, too.
  private static let proxySchemes: Set = [
    "http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h",
  ]

  /// Returns whether a text can be the host of a URL; in lower case, without a port.
  package static func isHost(_ name: String) -> Bool {
    !name.contains("*") && (try? NormalizedURL("https://\(name)/"))?.host == name
  }

  /// Returns the pins of a host, or `nil` if it has none. A dot at the end of the name is ignored.
  package func pins(of host: String) -> Set<Pin>? {
    pins.isEmpty ? nil : pins[Self.withoutDot(host)]
  }

  private static func normal(_ pins: [String: Set<Pin>]) -> [String: Set<Pin>] {
    Dictionary(pins.map { (withoutDot($0.lowercased()), $1) }) { $0.union($1) }
  }

  package static func withoutDot(_ host: String) -> String {
    host.hasSuffix(".") ? String(host.dropLast()) : host
  }
}
