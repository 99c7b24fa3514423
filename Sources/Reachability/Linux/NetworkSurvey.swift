#if os(Linux)
  import CReachability
  import CacheSystem

  /// Finds the links through which packets leave this machine, and determines the state from them.
  struct NetworkSurvey: Sendable {
    let socket: NetlinkSocket
    let options: ReachabilityOptions

    /// Returns the present state, by asking the kernel.
    ///
    /// The kernel is asked for the route of a packet to a public address (`ip route get`), not for
    /// its list of routes. So rules, tables and tunnels are taken into account as for real packets.
    ///
    /// - Throws: The errors of the socket. A missing route is not an error.
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

enum Way: Hashable {
  /// They cannot leave.
  case closed
  case link(NetlinkMessage.Link)
}

extension NetworkState {
  /// Creates the state for the ways out. One constrained link makes the network constrained,
  /// because it is not known in advance which family a connection will use.
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
