import CLibrary
import CacheSystem

extension SystemError {
  /// Messages of a socket were lost.
  static let noBuffers = SystemError(ENOBUFS)

  /// A message does not fit into its buffer.
  static let messageTooLong = SystemError(EMSGSIZE)

  static let timedOut = SystemError(ETIMEDOUT)

  /// Whether there is no route to an address, or its link is gone, or the address family is not
  /// available: the errors with which the kernel answers a request for a route (`unreachable`,
  /// `prohibit`, `blackhole`).
  var isNoRoute: Bool {
    code == ENETUNREACH || code == EHOSTUNREACH || code == ENODEV || code == ENETDOWN
      || code == EACCES || code == EINVAL || code == EAFNOSUPPORT || code == EOPNOTSUPP
  }
}
