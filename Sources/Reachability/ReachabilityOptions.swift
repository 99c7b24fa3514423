/// Says how ``SystemReachability`` judges.
public struct ReachabilityOptions: Sendable {
  /// Names the links that make a connection constrained (Linux): names, or beginnings that end in `*`.
  ///
  /// What a link costs is not known to the kernel. The default are the names that modems have: `ww*`
  /// (wwan0, wwp0s20u4), `rmnet*`, `ppp*`. A DSL line is `ppp0`, too: leave `ppp*` out for one. Phones
  /// that share their connection appear as `usb0` or as WLAN: add them.
  public var constrainedLinks: [String]

  /// Confirms what the system says; nil: its word is enough.
  public var probe: NetworkProbe?

  /// Makes options; the defaults ask nobody but the system.
  public init(
    constrainedLinks: [String] = ["ww*", "rmnet*", "ppp*"], probe: NetworkProbe? = nil
  ) {
    self.constrainedLinks = constrainedLinks
    self.probe = probe
  }

  /// Tells whether a link makes a connection constrained.
  func isConstrained(_ link: String) -> Bool {
    constrainedLinks.contains { pattern in
      pattern.last == "*" ? link.hasPrefix(pattern.dropLast()) : link == pattern
    }
  }
}

/// Confirms a connection: by a TCP connection to a server that is closed at once.
public struct NetworkProbe: Sendable, Hashable, CustomStringConvertible {
  /// Names the server, or gives its address.
  public var host: String

  /// Gives its port.
  public var port: UInt16

  /// Bounds how long resolving and connecting may take.
  public var timeout: Duration

  /// Says after what time it is made again while nothing else changes.
  public var interval: Duration

  /// Makes a probe.
  public init(
    host: String, port: UInt16, timeout: Duration = .seconds(3), interval: Duration = .seconds(15)
  ) {
    self.host = host
    self.port = port
    self.timeout = timeout
    self.interval = interval
  }

  /// Reads `example.org:443`, `192.0.2.1:80` or `[2001:db8::1]:80`; nil where it is none.
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

  /// Gives host and port as they are typed.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
