import CLibrary
import CMicrohttpd
import CMicrohttpdLibrary
import HTTPTransports

/// The content that the library sends after a head.
enum ResponseContent {
  case bytes([UInt8])
  /// A part of a file that has been read.
  case buffer(FileBuffers.Buffer)
  /// No body, but a length is stated: the answer to `HEAD`, a 304.
  case none(told: UInt64?)
  case file(descriptor: Int32, offset: UInt64, length: UInt64)
  /// A 101, after which ``Exchange/switchProtocols(_:_:)`` is called.
  case tunnel
  case stream(length: UInt64?, Exchange)
}

extension ClientConnection {
  /// The size of the pieces that the library requests of a stream, in bytes. It keeps that much
  /// memory for each client that it streams to.
  static let streamPiece = 8 * 1024

  /// Passes an answer to the library.
  ///
  /// - Parameter lines: The lines of ``AnswerLines``.
  /// - Returns: `false` if the library refuses it; the connection must end then.
  func queue(status: Int, lines: [UInt8], content: ResponseContent) -> Bool {
    guard let response = unsafe Self.response(content) else { return false }
    // Safety: the library holds its own reference once the response is queued.
    defer { unsafe MHD_destroy_response(response) }
    unsafe lines.withUnsafeBytes { bytes in
      // Safety: each line ends with a NUL, and the lines are copied.
      unsafe ocmhd_add_fields(
        response, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    switch content {
    case .bytes(let bytes): if !bytes.isEmpty { unsafe ocmhd_join(pointer) }
    case .buffer(let buffer): if unsafe !buffer.bytes.isEmpty { unsafe ocmhd_join(pointer) }
    case .none, .file, .tunnel, .stream: break
    }
    return unsafe MHD_queue_response(pointer, UInt32(clamping: status), response) == .YES
  }

  private static func response(_ content: ResponseContent) -> OpaquePointer? {
    switch content {
    case .bytes(let bytes):
      return unsafe bytes.withUnsafeBytes { buffer in
        // Safety: the library copies the bytes, so it does not write through the pointer.
        unsafe MHD_create_response_from_buffer(
          buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .buffer(let buffer):
      // Safety: the library calls the last closure once, when it releases the response.
      let context = unsafe Unmanaged.passRetained(buffer)
      let response = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
        buffer.bytes.count, UnsafeMutableRawPointer(mutating: buffer.bytes.baseAddress),
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<FileBuffers.Buffer>.fromOpaque(context).release()
          }
        }, context.toOpaque())
      if unsafe response == nil { unsafe context.release() }
      return unsafe response
    case .none(let told):
      // The callback is never called: no body is sent, but its length is stated.
      let response = unsafe MHD_create_response_from_callback(
        told ?? .max, 1, { _, _, _, _ in -1 }, nil, nil)
      // The library up to 0.9.77 sends the last chunk even if there is no body; the client would
      // read it as the beginning of the next answer.
      if told == nil, let response = unsafe response { unsafe ocmhd_end_with(response) }
      return unsafe response
    case .file(let descriptor, let offset, let length):
      // The library closes the descriptor that it gets.
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return nil }
      let response = unsafe MHD_create_response_from_fd_at_offset64(length, copy, offset)
      if unsafe response == nil { close(copy) }
      return unsafe response
    case .tunnel: return unsafe ocmhd_upgrade(switchProtocols, nil)
    case .stream(let length, let exchange):
      // Safety: the library calls the last closure once, when it releases the response.
      let context = unsafe Unmanaged.passRetained(exchange)
      let response = unsafe MHD_create_response_from_callback(
        length ?? .max, streamPiece, readStream, context.toOpaque(),
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<Exchange>.fromOpaque(context).release()
          }
        })
      if unsafe response == nil { unsafe context.release() }
      return unsafe response
    }
  }
}

/// Gets the socket of a client after a 101.
private func switchProtocols(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ request: UnsafeMutableRawPointer?, _ early: UnsafePointer<CChar>?, _ count: Int,
  _ socket: Int32, _ handle: OpaquePointer?
) {
  guard let request = unsafe request, let handle = unsafe handle else { return }
  // Safety: the library holds the exchange until its end is reported; the bytes are copied.
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(request).takeUnretainedValue()
  let bytes = unsafe Array(UnsafeRawBufferPointer(start: early, count: count))
  // The library owns the socket.
  nonisolated(unsafe) let ending = unsafe handle
  // Safety: the handle is valid until this call, which is made once.
  let client = SocketEnd(socket) { _ in unsafe ocmhd_end_upgrade(ending) }
  exchange.switchProtocols(client, bytes)
}

/// Copies the next bytes of a stream for the library; returns -1 at its end, -2 if it broke off.
private func readStream(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?,
  _ capacity: Int
) -> Int {
  guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
  // Safety: the response holds a reference to the exchange; the buffer has `capacity` bytes.
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
  return unsafe exchange.readStream(
    into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
}
