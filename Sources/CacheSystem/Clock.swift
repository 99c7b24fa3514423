internal import CPlatform

/// Tells the time of day; injected, so that tests make their own.
public protocol WallClock: Sendable {
  /// The nanoseconds since 1970 in UTC. May jump, also backwards.
  func now() -> Int64
}

/// The clock of the operating system, CLOCK_REALTIME of clock_gettime(2).
public struct SystemClock: WallClock {
  /// Makes the clock; it has no state.
  public init() {}

  public func now() -> Int64 { cp_wall_nanoseconds() }
}
