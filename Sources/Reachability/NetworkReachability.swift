/// Tells how the network is, now and whenever that changes.
///
/// ``SystemReachability`` asks the system; ``ManualReachability`` says what a program has found out by
/// itself.
public protocol NetworkReachability: AnyObject, Sendable {
  /// Tells how the network is now. Costs no more than a lock.
  var current: NetworkState { get }

  /// Gives the present state first, then each new one, to one reader; any number of readers may ask.
  ///
  /// A reader that is slow gets the newest state and misses those in between. It ends when whatever
  /// tells the states ends, or the task of the reader is cancelled.
  func changes() -> AsyncStream<NetworkState>
}

/// Says what a program knows by itself: from a setting, from another library, or in a test.
public final class ManualReachability: NetworkReachability {
  private let board: StateBoard

  /// Makes one that says a state until it is told another one.
  public init(_ state: NetworkState) { board = StateBoard(state) }

  /// Makes one that says a quality.
  public convenience init(_ quality: NetworkQuality) {
    self.init(NetworkState(quality, reason: "the program says so"))
  }

  deinit { board.finish() }

  /// Tells how the network is now.
  public var current: NetworkState { board.current }

  /// Gives the present state first, then each new one.
  public func changes() -> AsyncStream<NetworkState> { board.changes() }

  /// Says another state from now on.
  public func set(_ state: NetworkState) { board.publish(state) }

  /// Says another quality from now on.
  public func set(_ quality: NetworkQuality) {
    set(NetworkState(quality, reason: "the program says so"))
  }
}
