internal import CPlatform

/// Tells the time of day; injected, so that tests make their own.
public protocol WallClock: Sendable {
  /// The nanoseconds since 1970 in UTC. May jump, also backwards.
  func now() -> Int64
  /// The same, perhaps some milliseconds behind where that is cheaper. The default is `now()`.
  func roughly() -> Int64
}

extension WallClock {
  public func roughly() -> Int64 { now() }
}

/// The clock of the operating system, CLOCK_REALTIME of clock_gettime(2).
public struct SystemClock: WallClock {
  /// Makes the clock; it has no state.
  public init() {}

  public func now() -> Int64 { cp_wall_nanoseconds() }

  public func roughly() -> Int64 { cp_coarse_nanoseconds() }
}
