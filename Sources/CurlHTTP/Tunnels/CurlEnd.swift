import CCurl
import CCurlLibrary
import CLibrary
import HTTPTransports

/// A connection that libcurl encrypts.
@safe
final class CurlEnd: TunnelEnd, @unchecked Sendable {
  // Unchecked: one thread at a time makes calls (TunnelEnd).
  private var handle: EasyHandle?
  let descriptor: Int32
  /// The bytes that libcurl is writing. OpenSSL has to get the same bytes at the same place again if
  /// it could not write them at once.
  private let outgoing = UnsafeMutableRawBufferPointer.allocate(
    byteCount: CurlEnd.writeBytes, alignment: 16)
  /// The number of bytes that must be written again; 0 if there are none.
  private var again = 0

  private var isWatched = false

  /// Whether the server has ended the connection without closing TLS; only known if something was sent.
  var wasCut: Bool { handle?.wasCut ?? false }

  /// The bytes of a record of TLS.
  private static let writeBytes = 16 * 1024

  deinit { unsafe outgoing.deallocate() }

  init(_ handle: EasyHandle, _ socket: curl_socket_t) {
    self.handle = handle
    descriptor = socket
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    guard let handle else { return .failed }
    var count = 0
    // Safety: at most the size of the caller's buffer is written.
    let code = unsafe curl_easy_recv(handle.raw, buffer.baseAddress, buffer.count, &count)
    switch code {
    case CURLE_OK: return count > 0 ? .bytes(count) : .end
    case CURLE_AGAIN: return .wouldBlock
    default: return .failed
    }
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    guard let handle else { return .failed }
    var size = again
    if size == 0 {
      // Safety: no more bytes are copied than either buffer has.
      size = min(buffer.count, Self.writeBytes)
      unsafe outgoing.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<size]))
    }
    var count = 0
    // Safety: the buffer has that many bytes.
    let code = unsafe curl_easy_send(handle.raw, outgoing.baseAddress, size, &count)
    again = 0
    switch code {
    case CURLE_OK where count > 0:
      // Not before: the handle has no connection until it is first used.
      if !isWatched { handle.watchClosure() }
      isWatched = true
      return .bytes(count)
    case CURLE_OK, CURLE_AGAIN:
      again = size
      return .wouldBlock
    default: return .failed
    }
  }

  /// Ends the connection of TCP in one direction. libcurl cannot tell the end in TLS itself.
  func finishWriting() -> TunnelTransfer {
    shutdown(descriptor, Int32(SHUT_WR)) == 0 ? .end : .failed
  }

  func close(isBroken: Bool) { handle = nil }
}
