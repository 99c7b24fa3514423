/// The rules by which ``SystemReachability`` determines the state.
public struct ReachabilityOptions: Sendable {
  /// The links that make a connection constrained (Linux): names, or beginnings of names that end
  /// in `*`.
  ///
  /// The kernel does not know what a link costs. The defaults are the names of modems: `ww*`
  /// (wwan0, wwp0s20u4), `rmnet*`, `ppp*`. A DSL line is `ppp0`, too: remove `ppp*` if you have
  /// one. Phones that share their connection appear as `usb0` or as WLAN: add them.
  public var constrainedLinks: [String]

  /// The probe that confirms the state of the system; `nil` for none.
  public var probe: NetworkProbe?

  /// Creates options. With the defaults, no connections are made.
  public init(
    constrainedLinks: [String] = ["ww*", "rmnet*", "ppp*"], probe: NetworkProbe? = nil
  ) {
    self.constrainedLinks = constrainedLinks
    self.probe = probe
  }

  func isConstrained(_ link: String) -> Bool {
    constrainedLinks.contains { pattern in
      pattern.last == "*" ? link.hasPrefix(pattern.dropLast()) : link == pattern
    }
  }
}

/// A test of the network: a TCP connection to a server, which is closed at once.
public struct NetworkProbe: Sendable, Hashable, CustomStringConvertible {
  /// The name or address of the server.
  public var host: String

  /// The port of the server.
  public var port: UInt16

  /// The limit on the time for resolving the name and connecting.
  public var timeout: Duration

  /// The time after which the probe is repeated while nothing else changes.
  public var interval: Duration

  /// Creates a probe.
  public init(
    host: String, port: UInt16, timeout: Duration = .seconds(3), interval: Duration = .seconds(15)
  ) {
    self.host = host
    self.port = port
    self.timeout = timeout
    self.interval = interval
  }

  /// Parses `example.org:443`, `192.0.2.1:80` or `[2001:db8::1]:80`; returns `nil` for other texts.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...]), port > 0
    else { return nil }
    var host = text[..<colon]
    if host.first == "[" {
      guard host.last == "]" else { return nil }
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      return nil
    }
    self.init(host: String(host), port: port)
  }

  /// The host and the port, in the same form.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
