import CacheSystem
import HTTPTransports

/// The threads of a server: those of libmicrohttpd, and in a forward proxy those for tunnels.
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
  private let acceptor: ClientAcceptor?

  /// Starts the threads, which take over the listening socket.
  ///
  /// - Parameter tunnels: Makes the connections for tunnels; `nil` if there are none.
  init?(
    _ core: ProxyCore, _ bound: ListeningSocket.Bound, _ options: ProxyOptions,
    _ tunnels: (any TunnelTransport)?, connectionLimit: Int
  ) {
    self.core = core
    address = bound.address
    // Each tunnel has two descriptors.
    let tunnelLimit = min(options.tunnelLimit, connectionLimit / 8)
    let limit = tunnels == nil ? connectionLimit : connectionLimit - 2 * tunnelLimit
    let rules = TunnelRules(
      ports: options.connectPorts, ownPort: bound.address.port,
      allowsPrivate: options.allowsPrivate || bound.isLoopback, isOffline: options.isOffline,
      identity: core.identity, intercepts: options.authority != nil)
    desk = tunnels.flatMap {
      TunnelDesk(
        core: core, rules, transport: $0, threads: Self.relayThreads, limit: tunnelLimit,
        idle: options.tunnelIdle)
    }
    core.desk = desk
    let accepts = desk != nil && options.origin == nil
    guard tunnels == nil || desk != nil,
      let daemon = ServerDaemon(
        core: core, listener: accepts ? nil : bound.descriptor,
        isEncrypted: options.certificate != nil, options: options, connectionLimit: limit)
    else {
      core.desk = nil
      desk?.stop()
      return nil
    }
    self.daemon = daemon
    guard accepts, let desk else {
      acceptor = nil
      secure = nil
      return
    }
    core.interceptor = options.authority.map {
      Interceptor($0, excluded: options.tunnelledHosts, rules, core: core)
    }
    secure =
      core.interceptor == nil
      ? nil
      : ServerDaemon(
        core: core, listener: nil, isEncrypted: true, options: options, connectionLimit: limit)
    let maximumWaiting = min(1024, limit / 4)
    acceptor = ClientAcceptor(
      listener: bound.descriptor, patience: core.patience, maximumWaiting: maximumWaiting,
      .init(
        hasRoom: { core.connectionCount < limit - maximumWaiting },
        request: { daemon.add($0) },
        connect: { [secure] client, head, first in
          if let secure, let interceptor = core.interceptor,
            let isOpen = interceptor.admit(client, head: head, first: first)
          {
            if isOpen { secure.add(client) }
            return
          }
          desk.connect(
            SocketEnd(client.descriptor), from: client.addressText, head: head, first: first)
        }))
    guard acceptor != nil, secure != nil || options.authority == nil else {
      acceptor?.stop()
      daemon.stop()
      secure?.stop()
      desk.stop()
      core.desk = nil
      core.interceptor = nil
      return nil
    }
  }

  /// Accepts no more connections.
  func quiesce() {
    if let acceptor { acceptor.stop() } else { daemon.quiesce() }
  }

  /// Ends all connections and threads; must be called once. No connection may be suspended.
  func stop() {
    desk?.stop()
    daemon.stop()
    secure?.stop()
    core.handshakes?.stop()
    ServerCertificate.forget(at: address)
    // They refer to the core, too.
    core.desk = nil
    core.interceptor = nil
  }
}
