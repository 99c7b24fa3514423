import CacheSystem
import HTTPTransports

/// The threads of a server: one that accepts connections, those of libmicrohttpd, and in a forward
/// proxy those for tunnels.
final class RunningServer: Sendable {
  /// The threads that move the bytes of tunnels.
  private static let relayThreads = 2

  let core: ProxyCore
  /// The address with the bound port.
  let address: ListenAddress
  private let daemon: ServerDaemon
  /// Serves the clients whose connections are intercepted.
  private let secure: ServerDaemon?
  private let desk: TunnelDesk?
  private let acceptor: ClientAcceptor

  /// Starts the threads, which take over the listening socket; returns `nil`, and leaves the socket
  /// open, if the system cannot.
  ///
  /// - Parameter tunnels: Makes the connections for tunnels; `nil` if there are none.
  init?(
    _ core: ProxyCore, _ bound: ListeningSocket.Bound, _ options: ProxyOptions,
    _ tunnels: (any TunnelTransport)?, connectionLimit: Int
  ) {
    self.core = core
    address = bound.address
    // A tunnel has four descriptors, if libcurl encrypts it, and there may be as many clients that read
    // a refusal. Two connections have six.
    let tunnelLimit = min(options.tunnelLimit, connectionLimit / 8)
    let limit = tunnels == nil ? connectionLimit : connectionLimit - 2 * tunnelLimit
    let rules = TunnelRules(
      ports: options.connectPorts, ownPort: bound.address.port,
      allowsPrivate: options.allowsPrivate || bound.isLoopback, isOffline: options.isOffline,
      identity: core.identity, authority: options.authority)
    desk = tunnels.flatMap {
      TunnelDesk(
        core: core, rules, transport: $0, threads: Self.relayThreads, limit: tunnelLimit,
        idle: options.tunnelIdle)
    }
    core.desk = desk
    core.interceptor = options.authority.map {
      Interceptor($0, excluded: options.tunnelledHosts, rules, core: core)
    }
    let daemon = ServerDaemon(
      core: core, isEncrypted: options.certificate != nil, options: options, connectionLimit: limit)
    let secure =
      core.interceptor == nil
      ? nil
      : ServerDaemon(core: core, isEncrypted: true, options: options, connectionLimit: limit)
    let connect = desk.flatMap { desk -> ClientAcceptor.Receivers.Connect? in
      guard options.origin == nil else { return nil }
      return { client, head in
        if let secure, let interceptor = core.interceptor,
          let isOpen = interceptor.admit(client, head: head)
        {
          if isOpen { secure.add(client) }
          return
        }
        desk.connect(SocketEnd(client.descriptor), from: client.addressText, head: head)
      }
    }
    guard core.watch != nil, tunnels == nil || desk != nil, let daemon,
      secure != nil || options.authority == nil,
      let acceptor = ClientAcceptor(
        listener: bound.descriptor, patience: core.patience, maximumWaiting: min(1024, limit / 4),
        .init(
          hasRoom: { core.connections.isBelow(limit - $0) },
          request: { client in
            core.interceptor?.forget(client.descriptor)
            daemon.add(client)
          },
          connect: connect))
    else {
      daemon?.stop()
      secure?.stop()
      desk?.stop()
      core.desk = nil
      core.interceptor = nil
      return nil
    }
    self.daemon = daemon
    self.secure = secure
    self.acceptor = acceptor
  }

  /// Accepts no more connections.
  func quiesce() { acceptor.stop() }

  /// Ends all connections and threads; must be called once. No connection may be suspended.
  func stop() {
    acceptor.stop()
    desk?.stop()
    daemon.stop()
    secure?.stop()
    ServerCertificate.forget(at: address)
    // They refer to the core, too.
    core.desk = nil
    core.interceptor = nil
  }
}
