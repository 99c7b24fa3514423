import CachingClient
import HTTPSemantics

/// Tells why what is stored stands in for the network.
enum StandIn: Hashable, CustomStringConvertible {
  /// The network was asked, and failed.
  case failure(ClientError)
  /// There is no network, for this reason.
  case noNetwork(String)
  /// The network is constrained, for this reason, and the user spares it.
  case constrained(String)

  var description: String {
    switch self {
    case .failure(let error): "it is stored, and the origin cannot be reached: \(error)"
    case .noNetwork(let reason): "it is stored, and there is no network: \(reason)"
    case .constrained(let reason): "it is stored, and the network is spared: \(reason)"
    }
  }
}

extension NormalizedURL {
  /// Tells whether the host is this machine itself, by its name or address (RFC 6761, section 6.3; RFC
  /// 1122, section 3.2.1.3; RFC 4291, section 2.5.3): a network is not needed for it.
  var isLoopback: Bool {
    let name = host.last == "." ? host.dropLast() : host[...]
    if name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" { return true }
    return name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39) ~= $0 }
  }
}
