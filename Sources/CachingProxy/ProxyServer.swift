import CLibrary
package import CacheClient
package import CacheSystem
package import HTTPTransports
import Synchronization

/// Serves HTTP clients through a cache.
///
/// Hits are answered on the thread that read the request. All other requests wait in tasks while
/// their connections are suspended, so a few threads serve thousands of clients.
package final class ProxyServer: Sendable {
  enum Phase {
    case idle
    case running(RunningServer)
    case stopped
  }

  /// The number of descriptors that are left for the store, the log, and look-ups of names whose
  /// clients have left.
  private static let reservedFiles: UInt64 = 256
  /// The descriptors that one connection may hold: its socket, and three for a look-up of a name; or
  /// an origin's with a staging file, or a stored file with the copy that is sent.
  private static let filesPerConnection: UInt64 = 4

  package let options: ProxyOptions

  private let tunnels: (any TunnelTransport)?
  private let makeCore: @Sendable (ListeningSocket.Bound) -> ProxyCore
  let phase = Lock(Phase.idle)
  private let openness = Atomic<Bool>(false)

  /// Creates a server for a caching client.
  ///
  /// The client's transport must send requests unchanged: its options must not add default fields.
  ///
  /// - Parameters:
  ///   - pages: The pages below `/.offlinecache/`; `nil` if there are none.
  ///   - observers: The observers of all answers.
  ///   - tunnels: Makes the connections for tunnels; `nil` if there are none.
  package convenience init(
    client: CachingClient, options: ProxyOptions, pages: ProxyStatus? = nil,
    observers: [any ProxyObserver] = [], tunnels: (any TunnelTransport)? = nil,
    clock: any WallClock = SystemClock()
  ) {
    self.init(
      backend: ClientBackend(client, isOffline: options.isOffline), options: options, pages: pages,
      observers: observers, tunnels: tunnels, clock: clock)
  }

  init(
    backend: any ProxyBackend, options: ProxyOptions, pages: ProxyStatus?,
    observers: [any ProxyObserver], tunnels: (any TunnelTransport)? = nil,
    identity: ProxyIdentity = ProxyIdentity(), clock: any WallClock
  ) {
    self.options = options
    self.tunnels = tunnels
    // The names that are served depend on the address that the system has bound.
    makeCore = { bound in
      let names = ServedNames(
        bound.address, isLoopback: bound.isLoopback, hosts: options.hosts, scheme: options.scheme)
      return ProxyCore(
        backend: backend, router: TargetRouter(origin: options.origin, names: names),
        identity: identity, trustsForwarded: options.trustsForwarded, scheme: options.scheme,
        pages: pages,
        observers: observers, clock: clock, patience: .seconds(max(1, options.idleSeconds)))
    }
  }

  /// Starts serving, and returns the address with the actual port.
  ///
  /// Raises the limit of open files of this process as far as possible.
  ///
  /// - Precondition: The server was not started before.
  package func start() throws(ProxyError) -> ListenAddress {
    let files = OpenFiles.raiseLimit()
    let bound = try ListeningSocket.open(options.listen)
    do throws(ProxyError) {
      if options.authority != nil, !bound.isLoopback, !options.allowsPrivate {
        throw ProxyError(.openAuthority, subject: bound.address.description)
      }
      try options.certificate?.use(at: bound.address)
    } catch {
      close(bound.descriptor)
      throw error
    }
    let core = makeCore(bound)
    let limit = Self.connectionLimit(files: files)
    guard let server = RunningServer(core, bound, options, tunnels, connectionLimit: limit) else {
      ServerCertificate.forget(at: bound.address)
      close(bound.descriptor)
      throw ProxyError(.system, subject: bound.address.description)
    }
    openness.store(!bound.isLoopback, ordering: .releasing)
    phase.withLock { phase in
      guard case .idle = phase else { preconditionFailure("the server was started twice") }
      phase = .running(server)
    }
    return bound.address
  }

  /// Returns the most connections of clients, and to origins with the kept ones, for a limit of open
  /// files: libdispatch ends a process that has none left.
  package static func connectionLimit(files: UInt64) -> Int {
    let free = files >= 2 * reservedFiles ? files - reservedFiles : files / 2
    return Int(free / filesPerConnection)
  }

  /// Makes connections from now on use another certificate. If it cannot be used, the present one
  /// stays.
  ///
  /// - Throws: ``ProxyError`` with the code `certificate`.
  /// - Precondition: The server was started with a certificate.
  package func replaceCertificate(_ certificate: ServerCertificate) throws(ProxyError) {
    let address = phase.withLock { phase -> ListenAddress? in
      guard case .running(let server) = phase else { return nil }
      return server.address
    }
    if let address { try certificate.use(at: address) }
  }

  /// Whether other machines can connect to the bound address; false before the start.
  package var isOpenToOthers: Bool { openness.load(ordering: .acquiring) }

  /// Stops the server: accepts no more connections, lets the received requests be answered, and
  /// ends the rest when the time is over. Tunnels end when there are no requests left. A second call
  /// does nothing.
  ///
  /// - Returns: The number of requests that were cut off.
  @discardableResult
  package func stop(grace: Duration) async -> Int {
    let running = phase.withLock { phase -> RunningServer? in
      guard case .running(let server) = phase else { return nil }
      phase = .stopped
      return server
    }
    guard let server = running else { return 0 }
    let core = server.core
    core.beginStopping()
    server.quiesce()
    let deadline = ContinuousClock.now + grace
    while core.activeCount > 0, ContinuousClock.now < deadline {
      do { try await Task.sleep(for: .milliseconds(10)) } catch { break }
    }
    let left = core.activeCount
    core.exchanges.abortAll()
    server.stop()
    return left
  }
}
