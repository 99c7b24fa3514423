import CacheSystem

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SystemError {
  /// Messages of a socket were lost.
  static let noBuffers = SystemError(ENOBUFS)

  /// A message does not fit into its buffer.
  static let messageTooLong = SystemError(EMSGSIZE)

  /// Something took too long.
  static let timedOut = SystemError(ETIMEDOUT)

  /// Whether nothing leads to an address, or the link that did is gone, or there is no such family of
  /// addresses here: what a question for a route is refused with (`unreachable`, `prohibit`, `blackhole`).
  var isNoRoute: Bool {
    code == ENETUNREACH || code == EHOSTUNREACH || code == ENODEV || code == ENETDOWN
      || code == EACCES || code == EINVAL || code == EAFNOSUPPORT || code == EOPNOTSUPP
  }
}
