import CLibrary

/// A connected socket that this object owns.
package final class SocketEnd: TunnelEnd {
  package let descriptor: Int32
  private let closing: @Sendable (Int32) -> Void

  /// Takes over a connected socket, and makes it return instead of waiting.
  ///
  /// - Parameter closing: Closes the socket; called once.
  package init(
    _ descriptor: Int32, closing: @escaping @Sendable (Int32) -> Void = { CLibrary.close($0) }
  ) {
    self.descriptor = descriptor
    self.closing = closing
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    Self.sendWithoutDelay(descriptor)
    #if canImport(Darwin)
      Self.setOption(SO_NOSIGPIPE, Int32(1), of: descriptor)
    #endif
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    unsafe Self.read(descriptor, into: buffer)
  }

  package func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    unsafe Self.write(buffer, to: descriptor)
  }

  package func finishWriting() -> TunnelTransfer {
    shutdown(descriptor, Int32(SHUT_WR)) == 0 ? .end : .failed
  }

  package func close(isBroken: Bool) {
    if isBroken { Self.breakOnClose(descriptor) }
    closing(descriptor)
  }

  /// Reads from a socket that does not wait (recv(2)).
  package static func read(
    _ socket: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) -> TunnelTransfer {
    while true {
      // Safety: at most the size of the caller's buffer is written.
      let count = unsafe recv(socket, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: return .wouldBlock
      default: return .failed
      }
    }
  }

  /// Writes to a socket without waiting (send(2)), and without a signal if the other party has left.
  package static func write(_ buffer: UnsafeRawBufferPointer, to socket: Int32) -> TunnelTransfer {
    while true {
      // Safety: the caller's buffer has that many bytes.
      let count = unsafe send(socket, buffer.baseAddress, buffer.count, flags)
      if count > 0 { return .bytes(count) }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK, ENOBUFS: return .wouldBlock
      default: return .failed
      }
    }
  }

  /// Makes the system send small pieces at once (TCP_NODELAY).
  package static func sendWithoutDelay(_ socket: Int32) {
    setOption(TCP_NODELAY, Int32(1), level: Int32(IPPROTO_TCP), of: socket)
  }

  /// Makes the end of the connection an error for the other party (RST).
  package static func breakOnClose(_ socket: Int32) {
    setOption(SO_LINGER, linger(l_onoff: 1, l_linger: 0), of: socket)
  }

  /// Sets an option of a socket (setsockopt(2)).
  package static func setOption<Value>(
    _ name: Int32, _ value: Value, level: Int32 = SOL_SOCKET, of socket: Int32
  ) {
    // Safety: the option is read from a local of its size.
    _ = unsafe withUnsafeBytes(of: value) { bytes in
      unsafe setsockopt(socket, level, name, bytes.baseAddress, socklen_t(bytes.count))
    }
  }

  #if canImport(Darwin)
    private static let flags = Int32(MSG_DONTWAIT)
  #else
    private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
  #endif
}
