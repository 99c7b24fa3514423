#if os(Linux)
  import CReachability
  import CacheSystem

  /// Finds out by which link packets leave this machine, and judges that.
  struct NetworkSurvey: Sendable {
    private let socket: NetlinkSocket
    private let options: ReachabilityOptions

    init(_ socket: NetlinkSocket, _ options: ReachabilityOptions) {
      self.socket = socket
      self.options = options
    }

    /// Asks the kernel for the state of now.
    ///
    /// The kernel is asked where a packet to a public address would go (`ip route get`), not for its
    /// list of routes: so rules, tables and tunnels count as they do for packets.
    ///
    /// - Throws: what the socket throws; that there is no route is no error.
    func state(_ sequence: inout UInt32) throws(SystemError) -> NetworkState {
      var ways: [Way] = []
      for (family, name) in [(cr_ipv4(), "IPv4"), (cr_ipv6(), "IPv6")] {
        ways.append(try way(family, name, &sequence))
      }
      return NetworkState(ways, options)
    }

    private func way(
      _ family: Int32, _ name: String, _ sequence: inout UInt32
    ) throws(SystemError) -> Way {
      do throws(SystemError) {
        sequence &+= 1
        let route = try socket.route(family, sequence)
        guard route.isUnicast, let index = route.link else { return .closed }
        sequence &+= 1
        return .link(try socket.link(index, sequence))
      } catch {
        if error.isNoRoute { return .closed }
        throw error
      }
    }
  }
#endif

/// Tells how packets of one family leave this machine.
enum Way: Hashable {
  /// They do not.
  case closed
  /// By a link.
  case link(NetlinkMessage.Link)
}

extension NetworkState {
  /// Judges the ways out. Whichever family a connection takes, a constrained link makes it constrained:
  /// the better one is not known beforehand.
  init(_ ways: [Way], _ options: ReachabilityOptions) {
    var good: [String] = []
    var down: [String] = []
    for case .link(let link) in ways where !link.isLoopback {
      if link.isUp, link.isRunning {
        if !good.contains(link.name) { good.append(link.name) }
      } else if !down.contains(link.name) {
        down.append(link.name)
      }
    }
    if good.isEmpty {
      let reason =
        down.first.map { "the link \($0) of the default route is down" }
        ?? "there is no default route"
      self.init(.none, reason: reason)
    } else if let link = good.first(where: options.isConstrained) {
      self.init(.constrained, links: good, reason: "\(link) is a constrained link")
    } else {
      self.init(
        .free, links: good, reason: "the default route is by \(good.joined(separator: " and "))")
    }
  }
}
