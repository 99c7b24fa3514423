/// Says what the network is good for.
public enum NetworkQuality: String, Sendable, Hashable, CaseIterable, Comparable {
  /// Nothing but this machine can be reached.
  case none
  /// There is a way out that costs money or is slow: a modem, a phone, a link that the user named.
  case constrained
  /// There is a way out, and nothing speaks against using it.
  case free

  /// Orders them from the worst to the best.
  public static func < (left: NetworkQuality, right: NetworkQuality) -> Bool {
    left.rank < right.rank
  }

  private var rank: Int {
    switch self {
    case .none: 0
    case .constrained: 1
    case .free: 2
    }
  }
}

/// Tells how the network is, and why it is said to be so.
public struct NetworkState: Sendable, Hashable, CustomStringConvertible {
  /// Says what the network is good for.
  public var quality: NetworkQuality

  /// Names the links that lead out, such as `eth0`; none where nothing does, or where they are not
  /// known.
  public var links: [String]

  /// Says why, in a few words for people.
  public var reason: String

  /// Makes a state.
  public init(_ quality: NetworkQuality, links: [String] = [], reason: String) {
    self.quality = quality
    self.links = links
    self.reason = reason
  }

  /// Gives quality and reason.
  public var description: String { "\(quality.rawValue): \(reason)" }
}
