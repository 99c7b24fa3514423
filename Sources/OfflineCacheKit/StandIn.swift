/// The reason why a stored response, or a file, is used in place of the network.
enum StandIn: Hashable, CustomStringConvertible {
  /// The network was asked, and failed.
  case failure(TransportError)
  /// The network was asked, and the content coding of the answer is damaged.
  case damaged(ContentCodingError)
  /// There is no network, for this reason.
  case noNetwork(String)
  /// The network is constrained, for this reason, and the options spare such networks.
  case constrained(String)

  /// The error of a request, if a stored response may be used instead; `nil` for other errors.
  init?(_ error: ClientError) {
    guard error.mayHaveStandIn else { return nil }
    switch error.cause {
    case .transport(let error): self = .failure(error)
    case .coding(let error): self = .damaged(error)
    default: return nil
    }
  }

  var description: String {
    switch self {
    case .failure(let error): "the server could not be reached: \(error.cause)"
    case .damaged(let error): "the server's answer cannot be decoded: \(error)"
    case .noNetwork(let reason): "there is no network: \(reason)"
    case .constrained(let reason): "the network is spared: \(reason)"
    }
  }
}
