import HTTPSemantics

/// Says how a ``CurlTransport`` works; the same for all its transfers.
public struct CurlSetup: Sendable, Hashable {
  /// Says which proxy is used.
  public enum Proxy: Sendable, Hashable {
    /// The one in the environment variables `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.
    case environment
    /// This one: a URL of `http`, `https`, `socks5` or `socks5h` (which looks names up itself), such as
    /// `http://proxy.example:3128`. A name and password in it are sent by the scheme Basic.
    ///
    /// `except` names hosts that are asked directly, as `no_proxy` does: names with all below them,
    /// addresses, networks such as `10.0.0.0/8`, with commas in between; nil: those of `no_proxy`.
    case url(String, except: String? = nil)
    /// None.
    case none
  }

  /// Gives the `User-Agent` that is sent when a request has none and default fields are added.
  public var userAgent: String

  /// Bounds what is buffered for one slow reader, in bytes; at least one read of libcurl's.
  ///
  /// With more than 16 transfers at once each that starts to wait has less, down to 8 KiB.
  public var bufferBytes: Int

  /// Bounds the connections to one host; more transfers than that wait for their turn, in the order of
  /// ``TransportOptions/priority``.
  ///
  /// A body that is open and not read holds its connection: who keeps this many of them open and
  /// waits for one more from the same host waits for ever. 0: no bound.
  public var connectionsPerHost: Int

  /// Names a file of trusted certificate authorities (PEM) instead of the system's.
  public var certificateAuthoritiesFile: String?

  /// Gives the pins of hosts: a host that is named here must show, over TLS, one of its pins before a
  /// byte of a request is sent; else the transfer fails with `pinMismatch`, and so does one by http.
  ///
  /// The certificate must be trusted as well: for one that signs itself, name it as
  /// ``certificateAuthoritiesFile``, too. The names of hosts are taken in lower case, without port; an
  /// IPv6 address has its brackets.
  public var pins: [String: Set<Pin>] {
    didSet { pins = Self.normal(pins) }
  }

  /// Names the certificate for servers that ask for one.
  public var clientCertificate: ClientCertificate?

  /// Says which proxy is used.
  public var proxy: Proxy

  /// Speaks HTTP/2 with servers that offer it over TLS, and shares one connection among transfers.
  ///
  /// libcurl 7.88 lets a server send 32 MB ahead on each HTTP/2 stream, and holds in memory what a
  /// slow reader has not taken. With HTTP/1.1 the bound is ``bufferBytes``.
  public var usesHTTP2: Bool

  /// Keeps the cookies that servers set, in memory, and sends them back (RFC 6265), to each where it
  /// belongs. Not for requests that have a `Cookie` of their own.
  ///
  /// A cache above does not see them: an answer that says `Vary: Cookie` comes as `Vary: *` and is not
  /// stored. What a server does not mark so, or `private`, is stored as always.
  public var keepsCookies: Bool

  /// How long a request that expects `100 (Continue)` holds its body back.
  let continueTimeout = Duration.seconds(1)

  /// Makes a set-up; the defaults suit a program that fetches from servers of others.
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

  /// Tells whether a URL may have this as its host; in lower case, without a port.
  package static func isHost(_ name: String) -> Bool {
    !name.contains("*") && (try? NormalizedURL("https://\(name)/"))?.host == name
  }

  /// Returns what a host is pinned to; nil: nothing. A dot at the end of a name makes it no other one.
  func pins(of host: String) -> Set<Pin>? {
    pins.isEmpty ? nil : pins[Self.withoutDot(host)]
  }

  private static func normal(_ pins: [String: Set<Pin>]) -> [String: Set<Pin>] {
    Dictionary(pins.map { (withoutDot($0.lowercased()), $1) }) { $0.union($1) }
  }

  static func withoutDot(_ host: String) -> String {
    host.hasSuffix(".") ? String(host.dropLast()) : host
  }
}
