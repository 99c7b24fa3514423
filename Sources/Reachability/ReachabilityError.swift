public import CacheSystem

@_exported public import struct CacheSystem.SystemError

/// The reason why the network cannot be watched.
public struct ReachabilityError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The operation that failed.
  public enum Step: String, Sendable, Hashable {
    /// Opening the socket of rtnetlink(7), or the descriptor that wakes its thread.
    case open
    /// Reading routes and links from the kernel.
    case ask
    /// Starting a thread.
    case thread
  }

  /// The operation that failed.
  public let step: Step

  /// The error of the system.
  public let cause: SystemError

  init(_ step: Step, _ cause: SystemError) {
    self.step = step
    self.cause = cause
  }

  /// The problem and the advice.
  public var description: String {
    let words = " (\(cause))"
    switch step {
    case .open where cause.isOutOfDescriptors:
      return "the network cannot be watched: there are too many open files\(words); "
        + "close some, or raise the limit"
    case .open:
      return "the network cannot be watched: a netlink socket cannot be opened\(words); "
        + "allow AF_NETLINK (containers, RestrictAddressFamilies), or use ManualReachability"
    case .ask:
      return "the network cannot be watched: the kernel does not return its routes\(words); "
        + "use ManualReachability"
    case .thread:
      return "the network cannot be watched: no thread can be started\(words); "
        + "check the limits of this process"
    }
  }
}
