import CMicrohttpd
import HTTPTransports

/// The client's connection with TLS after a switch of protocols.
///
/// libmicrohttpd 0.9.75 would move the bytes itself, and stops when both directions are busy. So
/// the connection is suspended, and its TLS session is used directly until the end.
@safe
final class EncryptedEnd: TunnelEnd, @unchecked Sendable {
  // Unchecked: one thread at a time makes calls (TunnelEnd).
  let descriptor: Int32
  private let session: UnsafeMutableRawPointer
  private var isRetry = false
  private let closed: @Sendable (_ isBroken: Bool) -> Void

  /// - Parameters:
  ///   - session: Valid until `closed` is called.
  ///   - closed: Ends the connection.
  init(
    _ socket: Int32, _ session: UnsafeMutableRawPointer,
    closed: @escaping @Sendable (_ isBroken: Bool) -> Void
  ) {
    descriptor = socket
    unsafe self.session = session
    self.closed = closed
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    // Safety: at most the size of the caller's buffer is written.
    Self.transfer(
      unsafe ocmhd_session_read(session, buffer.baseAddress, buffer.count), atZero: .end)
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    // Safety: the caller's buffer has that many bytes.
    let result = unsafe ocmhd_session_write(
      session, buffer.baseAddress, buffer.count, isRetry ? 1 : 0)
    isRetry = result == -1
    return Self.transfer(result, atZero: .wouldBlock)
  }

  func finishWriting() -> TunnelTransfer {
    Self.transfer(unsafe ocmhd_session_finish(session), atZero: .end)
  }

  func close(isBroken: Bool) { closed(isBroken) }

  private static func transfer(_ result: Int, atZero zero: TunnelTransfer) -> TunnelTransfer {
    switch result {
    case 1...: .bytes(result)
    case 0: zero
    case -1: .wouldBlock
    default: .failed
    }
  }
}
