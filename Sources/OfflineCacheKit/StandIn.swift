/// The reason why a stored response, or a file, is used in place of the network.
enum StandIn: Hashable, CustomStringConvertible {
  /// The network was asked, and failed.
  case failure(TransportError)
  /// There is no network, for this reason.
  case noNetwork(String)
  /// The network is constrained, for this reason, and the options spare such networks.
  case constrained(String)

  var description: String {
    switch self {
    case .failure(let error): "the server could not be reached: \(error.cause)"
    case .noNetwork(let reason): "there is no network: \(reason)"
    case .constrained(let reason): "the network is spared: \(reason)"
    }
  }
}
