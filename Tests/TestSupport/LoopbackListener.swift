#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A socket that listens on a free port of loopback.
///
/// The socket is closed with the last reference: the thread that accepts holds one as well as whoever
/// stops it, so that neither can name a descriptor that belongs to somebody else by then.
package final class LoopbackListener: Sendable {
  package let port: UInt16
  private let descriptor: Int32

  package init() throws(ListenerFailure) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw ListenerFailure(number: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let number = descriptor
    // Safety: the address is a local of the size that is passed.
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(number, generic, length) == 0 && listen(number, 256) == 0
          && getsockname(number, generic, &length) == 0
      }
    }
    guard isListening else {
      let failure = errno
      close(number)
      throw ListenerFailure(number: failure)
    }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }

  /// Waits for a connection, which the caller closes; nil once the listener has been stopped.
  package func accept() -> Int32? {
    while true {
      let connection = acceptConnection(descriptor)
      if connection >= 0 {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        return connection
      }
      if errno != EINTR, errno != ECONNABORTED { return nil }
    }
  }

  /// Refuses connections from now on; again does nothing.
  package func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Returns a port on which nothing listens.
  package static func unusedPort() throws(ListenerFailure) -> UInt16 {
    try LoopbackListener().port
  }
}

/// Calls accept(2), which has the name of a method above.
private func acceptConnection(_ listener: Int32) -> Int32 { accept(listener, nil, nil) }

/// Tells that no port could be had.
package struct ListenerFailure: Error {
  /// The errno.
  package let number: Int32
}
