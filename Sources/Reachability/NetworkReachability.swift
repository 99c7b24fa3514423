/// The state of the network, and its changes.
///
/// ``SystemReachability`` gets the state from the system; for ``ManualReachability`` the program
/// sets it.
public protocol NetworkReachability: AnyObject, Sendable {
  /// The present state. Reading it costs no more than a lock.
  var current: NetworkState { get }

  /// Returns the present state and then each new one, for one reader. There may be any number of
  /// readers.
  ///
  /// A slow reader gets the newest state and misses those before it. The sequence ends when the
  /// watching is stopped, or when the task of the reader is cancelled.
  func changes() -> AsyncStream<NetworkState>
}

/// A state that the program sets itself: from a setting, from another library, or in a test.
public final class ManualReachability: NetworkReachability {
  private let board: StateBoard

  /// Creates an object with a state.
  public init(_ state: NetworkState) { board = StateBoard(state) }

  /// Creates an object with a quality.
  public convenience init(_ quality: NetworkQuality) {
    self.init(NetworkState(quality, reason: "the program says so"))
  }

  deinit { board.finish() }

  /// The present state.
  public var current: NetworkState { board.current }

  /// Returns the present state and then each new one.
  public func changes() -> AsyncStream<NetworkState> { board.changes() }

  /// Changes the state.
  public func set(_ state: NetworkState) { board.publish(state) }

  /// Changes the quality.
  public func set(_ quality: NetworkQuality) {
    set(NetworkState(quality, reason: "the program says so"))
  }
}
