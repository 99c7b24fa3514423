import CacheClient

/// The reason why a stored response is used in place of the network.
enum StandIn: Hashable, CustomStringConvertible {
  /// The network was asked, and failed.
  case failure(ClientError)
  /// There is no network, for this reason.
  case noNetwork(String)
  /// The network is constrained, for this reason, and the options spare such networks.
  case constrained(String)

  var description: String {
    switch self {
    case .failure(let error): "it is stored, and the origin cannot be reached: \(error)"
    case .noNetwork(let reason): "it is stored, and there is no network: \(reason)"
    case .constrained(let reason): "it is stored, and the network is spared: \(reason)"
    }
  }
}
