import CacheSystem

/// The state of the network, as the system reports it, with all its changes.
///
/// On Linux it uses rtnetlink(7): there is a network if the kernel has a route to public addresses,
/// by IPv4 or IPv6, through a link that is up and has a carrier. The loopback does not count. A
/// link is constrained if its name is listed (``ReachabilityOptions/constrainedLinks``); the
/// metered connections of NetworkManager are not detected. On Apple platforms it uses
/// NWPathMonitor: a network is constrained if it is expensive, or if the user has chosen to save
/// data.
///
/// A route does not show whether servers can be reached; a ``NetworkProbe`` finds that out. On
/// Linux it costs one sleeping thread and three descriptors, and with a probe one thread more. All
/// are released with the last reference.
public final class SystemReachability: NetworkReachability {
  /// The object for the whole process, with default options, or `nil` if the network cannot be
  /// watched. It is created at its first use and never released.
  public static let shared: SystemReachability? = try? SystemReachability()

  private let board: StateBoard
  private let probing: ProbeLoop?
  #if canImport(Network)
    private let watcher: PathWatcher
  #elseif os(Linux)
    private let watcher: NetlinkWatcher
  #endif

  /// Starts watching. The first state is read before this returns; the first verdict of a probe
  /// comes later.
  ///
  /// - Throws: ``ReachabilityError`` if netlink is not allowed (in some containers), or no
  ///   descriptors or threads are left.
  public init(_ options: ReachabilityOptions = ReachabilityOptions()) throws(ReachabilityError) {
    #if canImport(Network)
      let watcher = PathWatcher()
      let first = watcher.look()
    #elseif os(Linux)
      let watcher = try NetlinkWatcher(options)
      let first = try watcher.look()
    #endif
    let board = StateBoard(first, isSettled: options.probe == nil)
    let probing = options.probe.map { ProbeLoop($0, board, first) }
    let tell: @Sendable (NetworkState) -> Void = { state in
      if let probing { probing.take(state) } else { board.publish(state) }
    }
    try probing?.start()
    do throws(ReachabilityError) {
      try watcher.start(tell)
    } catch {
      probing?.stop()
      throw error
    }
    self.watcher = watcher
    self.probing = probing
    self.board = board
  }

  deinit { stop() }

  /// The present state. Before the first verdict of a probe it is the state of the system.
  public var current: NetworkState { board.current }

  /// Returns the present state and then each new one. With a probe, the first state comes with its
  /// first verdict.
  public func changes() -> AsyncStream<NetworkState> { board.changes() }

  /// Ends all sequences and stops watching. ``current`` keeps the last state.
  public func stop() {
    board.finish()
    probing?.stop()
    watcher.stop()
  }
}
