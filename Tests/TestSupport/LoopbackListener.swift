import CLibrary

/// A socket that listens on a free port of loopback.
///
/// The socket is closed with the last reference: the thread that accepts holds one as well as whoever
/// stops it, so that neither can name a descriptor that belongs to somebody else by then.
package final class LoopbackListener: Sendable {
  package let port: UInt16
  private let descriptor: Int32

  package init() throws(ListenerFailure) {
    // Linux gives a port that it has chosen itself to the next who asks, as soon as its socket is shut
    // down. Then another test would answer where nobody should. A port that was named stays until the
    // socket is closed, so one is asked for, and named then.
    for _ in 0..<100 {
      let chosen = try ListeningSocket(port: 0)
      let port = chosen.port
      chosen.close()
      guard let listening = try? ListeningSocket(port: port) else { continue }
      (descriptor, self.port) = (listening.descriptor, port)
      return
    }
    throw ListenerFailure(number: EADDRINUSE)
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

  /// Returns different ports on which nothing listens.
  package static func unusedPorts(_ count: Int) throws(ListenerFailure) -> [UInt16] {
    // All are open at once: the system may give the port of one that is closed to the next.
    var listeners: [LoopbackListener] = []
    for _ in 0..<count { listeners.append(try LoopbackListener()) }
    return listeners.map(\.port)
  }

  /// Returns a port on which nothing listens.
  package static func unusedPort() throws(ListenerFailure) -> UInt16 { try unusedPorts(1)[0] }
}

/// A socket that listens on loopback.
private struct ListeningSocket {
  let descriptor: Int32
  let port: UInt16

  /// - Parameter port: 0 for one that the system chooses.
  init(port: UInt16) throws(ListenerFailure) {
    let number = socket(AF_INET, streamType, 0)
    guard number >= 0 else { throw ListenerFailure(number: errno) }
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Safety: the address is a local of the size that is passed.
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(number, generic, length) == 0 && listen(number, 256) == 0
          && getsockname(number, generic, &length) == 0
      }
    }
    guard isListening else {
      let failure = errno
      closeConnection(number)
      throw ListenerFailure(number: failure)
    }
    descriptor = number
    self.port = UInt16(bigEndian: address.sin_port)
  }

  func close() { closeConnection(descriptor) }
}

/// Calls close(2), which has the name of a method above.
private func closeConnection(_ descriptor: Int32) { close(descriptor) }

/// Calls accept(2), which has the name of a method above.
private func acceptConnection(_ listener: Int32) -> Int32 { accept(listener, nil, nil) }

/// Tells that no port could be had.
package struct ListenerFailure: Error {
  /// The errno.
  package let number: Int32
}
