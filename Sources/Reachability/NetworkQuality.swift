/// The quality of the network.
public enum NetworkQuality: String, Sendable, Hashable, CaseIterable {
  /// Only this machine can be reached.
  case none
  /// There is a connection that costs money or is slow: a modem, a phone, or a link that the user
  /// named.
  case constrained
  /// There is a connection without such restrictions.
  case free
}

/// The state of the network, and the reason for it.
public struct NetworkState: Sendable, Hashable, CustomStringConvertible {
  /// The quality of the network.
  public var quality: NetworkQuality

  /// The names of the links that lead out, such as `eth0`; empty if there are none, or if they are
  /// not known.
  public var links: [String]

  /// The reason, in a few words for people.
  public var reason: String

  /// Creates a state.
  public init(_ quality: NetworkQuality, links: [String] = [], reason: String) {
    self.quality = quality
    self.links = links
    self.reason = reason
  }

  /// The quality and the reason.
  public var description: String { "\(quality.rawValue): \(reason)" }
}
