import HTTPSemantics
import HTTPTransports

/// Which tunnels a proxy opens. Docs/Security.md has the attacks.
struct TunnelRules: Sendable {
  let ports: Set<UInt16>
  /// The port at which this proxy listens, on each of this machine's addresses.
  let ownPort: UInt16
  let allowsPrivate: Bool
  let isOffline: Bool
  let identity: ProxyIdentity
  /// The authority, if connections to `ports` are answered from the store.
  var authority: LocalAuthority?
  /// Whether this machine has an address.
  var isOwn: @Sendable (IPAddress) -> Bool = { $0.isOfThisMachine }

  /// Throws if the tunnel is refused whatever the address of its host is.
  func check(_ head: ConnectHead) throws(RequestRefusal) {
    if identity.isLoop(head.fields) {
      throw RequestRefusal(508, "the request has come back to this proxy; check the proxy settings")
    }
    // Offline, a port only helps if its connections are intercepted.
    guard ports.contains(head.port) || isOffline && authority == nil else {
      throw RequestRefusal(
        403, "no tunnel to port \(head.port): start the proxy with --connect-port \(head.port)")
    }
    if isOffline, let authority, authority.validity != .valid {
      throw RequestRefusal(
        504,
        "offline, and the authority is \(authority.validity.rawValue): check the clock, or make another "
          + "one with 'offlinecache ca remove' and 'ca create'")
    }
    if isOffline {
      throw RequestRefusal(
        504, "offline, no tunnel is opened: what went through tunnels was not stored")
    }
  }

  /// Whether a tunnel may lead to an address. It is asked for each address that a name has, before
  /// that address is connected to.
  func allows(_ address: IPAddress, _ port: UInt16) -> Bool {
    if allowsPrivate { return port != ownPort || !isOwn(address) }
    return !address.isPrivate && !isOwn(address)
  }

  /// Returns the refusal for a connection that could not be made.
  func refusal(_ error: TransportError) -> RequestRefusal {
    switch error.code {
    case .forbiddenAddress:
      RequestRefusal(
        403,
        allowsPrivate
          ? "\(error.url) is this proxy itself"
          : "\(error.url) is this machine, or in a private network; --allow-private allows that"
      )
    case .timeout: RequestRefusal(504, "\(error)")
    default: RequestRefusal(502, "\(error)")
    }
  }
}
