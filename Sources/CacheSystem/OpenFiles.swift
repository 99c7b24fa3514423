#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// The limit on the files that this process may have open at a time.
package enum OpenFiles {
  /// The highest limit that is requested.
  package static let wanted: UInt64 = 65_536

  /// Raises the limit as far as possible, at most to `wanted`, and returns it.
  @discardableResult
  package static func raiseLimit() -> UInt64 {
    var limit = rlimit()
    // Safety: both calls access only the local variable.
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
