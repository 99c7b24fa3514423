import CLibrary
import LoopbackOrigin

extension OriginConnection {
  /// Says that the tunnel stands, and passes bytes between both sides until one of them ends.
  func tunnel(to port: UInt16) {
    let other = socket(AF_INET, streamType, 0)
    defer { CLibrary.close(other) }
    guard connectToLoopback(other, port: port) else {
      return answer("no", status: "502 Bad Gateway")
    }
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
      return unsafe CLibrary.send(to, bytes.baseAddress, count, CInt(MSG_NOSIGNAL)) == count
    }
  }
}
