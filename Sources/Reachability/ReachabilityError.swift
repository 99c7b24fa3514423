public import CacheSystem

/// Tells why the network cannot be watched.
public struct ReachabilityError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names what failed.
  public enum Step: String, Sendable, Hashable {
    /// The socket of rtnetlink(7), or the descriptor beside it, could not be had.
    case open
    /// The kernel was asked for routes and links and gave no answer.
    case ask
    /// The system gave no thread.
    case thread
  }

  /// Names what failed.
  public let step: Step

  /// Gives the error of the system.
  public let cause: SystemError

  init(_ step: Step, _ cause: SystemError) {
    self.step = step
    self.cause = cause
  }

  /// Says what is wrong and what to do.
  public var description: String {
    let words = " (\(cause))"
    switch step {
    case .open where cause.isOutOfDescriptors:
      return "the network cannot be watched: there are too many open files\(words); "
        + "close some, or raise the limit"
    case .open:
      return "the network cannot be watched: the system gives no netlink socket\(words); "
        + "allow AF_NETLINK (containers, RestrictAddressFamilies), or say the state by hand"
    case .ask:
      return "the network cannot be watched: the kernel does not tell its routes\(words); "
        + "say the state by hand"
    case .thread:
      return "the network cannot be watched: there is no thread to be had\(words); "
        + "check the limits of this process"
    }
  }
}
