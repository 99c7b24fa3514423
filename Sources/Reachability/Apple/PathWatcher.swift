#if canImport(Network)
  import Dispatch
  import Network

  /// Watches the network with NWPathMonitor. Written for Apple platforms; not built there yet.
  final class PathWatcher: Sendable {
    private let monitor = NWPathMonitor()
    private let queue = DispatchQueue(label: "OfflineCache.reachability")

    /// Starts watching. The closure is called with the first state soon, and then with each change.
    func start(_ tell: @escaping @Sendable (NetworkState) -> Void) throws(ReachabilityError) {
      monitor.pathUpdateHandler = { path in tell(NetworkState(path)) }
      monitor.start(queue: queue)
    }

    /// Returns the present state.
    func look() -> NetworkState { NetworkState(monitor.currentPath) }

    /// Stops watching.
    func stop() { monitor.cancel() }
  }

  extension NetworkState {
    fileprivate init(_ path: NWPath) {
      let links = path.availableInterfaces.map(\.name)
      if path.status != .satisfied {
        self.init(.none, reason: "the system has no usable path")
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
