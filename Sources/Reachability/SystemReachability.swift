import CacheSystem

/// Asks the system how the network is, and hears of every change.
///
/// On Linux by rtnetlink(7): there is a network where the kernel has a route to public addresses, by IPv4
/// or IPv6, through a link that is up and has a carrier. The loopback alone counts as none. A link counts
/// as constrained by its name (``ReachabilityOptions/constrainedLinks``); what NetworkManager calls
/// metered is not known here. On Apple platforms by NWPathMonitor: constrained is what is expensive, or
/// where the user saves data.
///
/// A route says nothing about what lies behind it; ``NetworkProbe`` asks. Costs one thread that sleeps
/// and three descriptors (Linux), with a probe one thread more; all go with the last reference.
public final class SystemReachability: NetworkReachability {
  /// Gives the one that serves the whole process, with default options; nil where the network cannot be
  /// watched. It is made at its first use and stays.
  public static let shared: SystemReachability? = try? SystemReachability()

  private let board: StateBoard
  private let probing: ProbeLoop?
  #if canImport(Network)
    private let watcher: PathWatcher
  #elseif os(Linux)
    private let watcher: NetlinkWatcher
  #endif

  /// Begins to watch. The first look is taken before it returns, a probe's first verdict comes later.
  ///
  /// - Throws: ``ReachabilityError``, where netlink is not allowed (in some containers) or descriptors or
  ///   threads are used up.
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

  /// Tells how the network is now. Before the first verdict of a probe it is what the system says.
  public var current: NetworkState { board.current }

  /// Gives the present state first, then each new one. With a probe, the first one comes with its first
  /// verdict.
  public func changes() -> AsyncStream<NetworkState> { board.changes() }

  /// Ends all sequences and the watching; the last state stays.
  public func stop() {
    board.finish()
    probing?.stop()
    watcher.stop()
  }
}
