internal import CLibrary

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
    // Apple platforms refuse more than `kern.maxfilesperproc`, and always accept OPEN_MAX.
    for count in [wanted, min(wanted, 10_240)] {
      var next = limit
      next.rlim_cur = min(limit.rlim_max, rlim_t(count))
      if next.rlim_cur > limit.rlim_cur, unsafe setrlimit(resource, &next) == 0 { limit = next }
    }
    return UInt64(limit.rlim_cur)
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
