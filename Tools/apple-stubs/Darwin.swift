// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The C library of Apple platforms: that of this machine, and what is Apple's own.
@_exported import Glibc

/// sysctlbyname(3), in <sys/sysctl.h>.
public func sysctlbyname(
  _ name: UnsafePointer<CChar>!, _ old: UnsafeMutableRawPointer!,
  _ oldLength: UnsafeMutablePointer<Int>!, _ new: UnsafeMutableRawPointer!, _ newLength: Int
) -> Int32 { -1 }

/// pthread_cond_timedwait_relative_np, in <pthread.h>.
public func pthread_cond_timedwait_relative_np(
  _ condition: UnsafeMutablePointer<pthread_cond_t>!,
  _ mutex: UnsafeMutablePointer<pthread_mutex_t>!, _ interval: UnsafePointer<timespec>!
) -> Int32 { -1 }

// getrlimit(2), in <sys/resource.h>: the resources are integers there.
public let RLIMIT_NOFILE: Int32 = 8

public func getrlimit(_ resource: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { -1 }

public func setrlimit(_ resource: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { -1 }

// In <sys/socket.h>.
public let SOCK_DGRAM: Int32 = 2

public let SO_NOSIGPIPE: Int32 = 0x1022
