import CLibrary

/// The kind of a TCP socket. Glibc has it as an enumeration, the others as a number.
#if canImport(Glibc)
  package let streamType = Int32(SOCK_STREAM.rawValue)
#else
  package let streamType = SOCK_STREAM
#endif

/// Connects a socket to a port of loopback.
///
/// - Returns: whether something listens there.
package func connectToLoopback(_ descriptor: Int32, port: UInt16) -> Bool {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  // Safety: the address is a local of the size that is passed.
  return unsafe withUnsafePointer(to: &address) { pointer in
    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
  }
}
