#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Knows how many files this process may have open.
package enum OpenFiles {
  /// How many are asked for at most.
  package static let wanted: UInt64 = 65_536

  /// Raises the limit as far as it may be raised, and returns it.
  @discardableResult
  package static func raiseLimit() -> UInt64 {
    var limit = rlimit()
    // Safety: both calls read or write the local alone.
    guard unsafe getrlimit(resource, &limit) == 0 else { return 1024 }
    let best = min(UInt64(limit.rlim_max), wanted)
    if UInt64(limit.rlim_cur) < best {
      limit.rlim_cur = rlim_t(best)
      _ = unsafe setrlimit(resource, &limit)
      _ = unsafe getrlimit(resource, &limit)
    }
    return UInt64(limit.rlim_cur)
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
