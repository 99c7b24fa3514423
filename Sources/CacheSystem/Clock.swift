internal import CPlatform

/// A source of the time of day; injected, so that tests can set the time.
public protocol WallClock: Sendable {
  /// Returns the nanoseconds since 1970 in UTC. The value may jump, even backwards.
  func now() -> Int64
  /// Returns the same time, possibly some milliseconds late if that is cheaper. The default is
  /// `now()`.
  func roughly() -> Int64
}

extension WallClock {
  public func roughly() -> Int64 { now() }
}

/// The clock of the operating system, CLOCK_REALTIME of clock_gettime(2).
public struct SystemClock: WallClock {
  /// Creates the clock; it has no state.
  public init() {}

  public func now() -> Int64 { cp_wall_nanoseconds() }

  public func roughly() -> Int64 { cp_coarse_nanoseconds() }
}
