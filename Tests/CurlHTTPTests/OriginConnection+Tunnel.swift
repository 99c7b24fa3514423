import Glibc
import LoopbackOrigin

extension OriginConnection {
  /// Says that the tunnel stands, and passes bytes between both sides until one of them ends.
  func tunnel(to port: UInt16) {
    let other = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(other) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    // Safety: the address is a local of the size that is passed.
    let isOpen = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe connect(other, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isOpen else { return answer("no", status: "502 Bad Gateway") }
    send("HTTP/1.1 200 OK\r\n\r\n")
    while pass(between: other) {}
    close()
  }

  /// Passes what one of both sides has sent; false at the end.
  private func pass(between other: CInt) -> Bool {
    var ready = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: other, events: Int16(POLLIN), revents: 0),
    ]
    // Safety: the array has the two entries that are passed.
    guard unsafe poll(&ready, 2, -1) > 0 else { return false }
    let (from, to) = ready[0].revents != 0 ? (descriptor, other) : (other, descriptor)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // Safety: the buffer is valid during both calls, and what was received is sent.
    return unsafe buffer.withUnsafeMutableBytes { bytes in
      let count = unsafe recv(from, bytes.baseAddress, bytes.count, 0)
      guard count > 0 else { return false }
      return unsafe Glibc.send(to, bytes.baseAddress, count, CInt(MSG_NOSIGNAL)) == count
    }
  }
}
