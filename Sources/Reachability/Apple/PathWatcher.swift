#if canImport(Network)
  import Dispatch
  import Network

  /// Watches the network with NWPathMonitor. Type-checked on Linux (Tools/check-apple), and not built
  /// on Apple platforms yet.
  final class PathWatcher: @unchecked Sendable {
    // Unchecked: NWPathMonitor is Sendable in newer SDKs only. Its handler is set once, before it
    // starts, and its other methods may be called from any thread.
    private let monitor = NWPathMonitor()
    private let queue = DispatchQueue(label: "OfflineCache.reachability")

    /// Starts watching. The closure is called with the first state soon, and then with each change.
    func start(_ tell: @escaping @Sendable (NetworkState) -> Void) throws(ReachabilityError) {
      monitor.pathUpdateHandler = { path in tell(NetworkState(path)) }
      monitor.start(queue: queue)
    }

    /// Returns the state before the first report. The monitor's own path says that there is no
    /// network until it has started.
    func look() -> NetworkState {
      NetworkState(.free, reason: "the system has not reported its paths yet")
    }

    func stop() { monitor.cancel() }
  }

  extension NetworkState {
    fileprivate init(_ path: NWPath) {
      let links = path.availableInterfaces.map(\.name)
      if path.status == .unsatisfied {
        self.init(.none, reason: "the system has no usable path")
      } else if path.status == .requiresConnection {
        // A VPN on demand, for example: it connects when a request is sent.
        self.init(.free, links: links, reason: "the system connects when it is asked")
      } else if path.isConstrained {
        self.init(.constrained, links: links, reason: "the user saves data (Low Data Mode)")
      } else if path.isExpensive {
        self.init(.constrained, links: links, reason: "the connection is expensive")
      } else {
        self.init(.free, links: links, reason: "the system has a path")
      }
    }
  }
#endif
