public import CacheSystem
public import CachingClient
import Synchronization

/// Serves HTTP clients through a cache.
///
/// Hits are answered in the thread that read the request; all else waits in tasks while the
/// connection is suspended, so a few threads serve thousands of clients.
public final class ProxyServer: Sendable {
  private enum Phase {
    case idle
    case running(ServerDaemon)
    case stopped
  }

  /// How many descriptors are left for the store, the origin's connections and the log.
  private static let reservedFiles: UInt64 = 256

  /// Says where the server listens and what it does.
  public let options: ProxyOptions

  private let core: ProxyCore
  private let phase = Mutex(Phase.idle)

  /// Makes a server in front of a caching client.
  ///
  /// The client's transport has to send what it is given: options without default fields.
  ///
  /// - Parameters:
  ///   - pages: answer for the paths below `/.offlinecache/`; nil: there are none.
  ///   - observers: learn of every answer.
  public convenience init(
    client: CachingClient, options: ProxyOptions, pages: (any ProxyStatusPages)? = nil,
    observers: [any ProxyObserver] = [], clock: any WallClock = SystemClock()
  ) {
    self.init(
      backend: ClientBackend(client, isOffline: options.isOffline), options: options, pages: pages,
      observers: observers, clock: clock)
  }

  init(
    backend: any ProxyBackend, options: ProxyOptions, pages: (any ProxyStatusPages)?,
    observers: [any ProxyObserver], identity: ProxyIdentity = ProxyIdentity(),
    clock: any WallClock
  ) {
    self.options = options
    core = ProxyCore(
      backend: backend,
      router: TargetRouter(origin: options.origin, isLocal: options.listen.isLoopback),
      identity: identity,
      pages: pages, observers: observers, clock: clock)
  }

  /// Begins to serve, and returns the address with the port that it really has.
  ///
  /// Raises the limit of open files of this process as far as it may.
  ///
  /// - Throws: ``ProxyError``.
  /// - Precondition: it was not started before.
  public func start() throws(ProxyError) -> ListenAddress {
    let files = OpenFiles.raiseLimit()
    let (listener, address) = try ListeningSocket.open(options.listen)
    let limit = Int(files >= 2 * Self.reservedFiles ? files - Self.reservedFiles : files / 2)
    guard
      let daemon = ServerDaemon(
        core: core, listener: listener, options: options, connectionLimit: limit)
    else {
      ListeningSocket.close(listener)
      throw ProxyError(.system, subject: address.description)
    }
    phase.withLock { phase in
      guard case .idle = phase else { preconditionFailure("the server was started twice") }
      phase = .running(daemon)
    }
    return address
  }

  /// Gives the number of requests that are not answered to the end.
  public var activeCount: Int { core.activeCount }

  /// Stops: accepts no more connections, lets requests that have come be answered, and ends what
  /// is not done when the time is over. Does nothing the second time.
  ///
  /// - Returns: the number of requests that were cut off.
  @discardableResult
  public func stop(grace: Duration) async -> Int {
    let daemon = phase.withLock { phase -> ServerDaemon? in
      guard case .running(let daemon) = phase else { return nil }
      phase = .stopped
      return daemon
    }
    guard let daemon else { return 0 }
    core.beginStopping()
    daemon.quiesce()
    let deadline = ContinuousClock.now + grace
    while core.activeCount > 0, ContinuousClock.now < deadline {
      do { try await Task.sleep(for: .milliseconds(10)) } catch { break }
    }
    let left = core.activeCount
    core.exchanges.abortAll()
    daemon.stop()
    return left
  }
}
