import CGnuTLSLibrary
import CLibrary

/// Talks to a server with TLS, whatever its certificate is. Its calls wait, as those of a
/// ``RawClient`` do.
@safe
final class EncryptedClient {
  private let socket: RawClient
  private let session: gnutls_session_t
  private let credentials: gnutls_certificate_credentials_t

  init(port: UInt16) throws {
    socket = try RawClient(port: port, receiveBuffer: 1 << 16)
    var session: gnutls_session_t?
    var credentials: gnutls_certificate_credentials_t?
    // Safety: both are created here, and released at the end.
    guard unsafe gnutls_init(&session, UInt32(GNUTLS_CLIENT)) == 0, let session = unsafe session,
      unsafe gnutls_certificate_allocate_credentials(&credentials) == 0,
      let credentials = unsafe credentials
    else { throw RawClient.NoConnection() }
    unsafe self.session = session
    unsafe self.credentials = credentials
    unsafe gnutls_set_default_priority(session)
    unsafe gnutls_credentials_set(
      session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials))
    unsafe gnutls_transport_set_int2(session, socket.descriptor, socket.descriptor)
    var code: Int32 = 0
    repeat {
      code = unsafe gnutls_handshake(session)
    } while code < 0 && gnutls_error_is_fatal(code) == 0
    if code < 0 { throw RawClient.NoConnection() }
  }

  deinit {
    unsafe gnutls_deinit(session)
    unsafe gnutls_certificate_free_credentials(credentials)
  }

  /// Sends all bytes; returns false when the server takes no more.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Safety: the rest of the bytes is read.
      let count = unsafe rest.withUnsafeBytes { buffer in
        unsafe gnutls_record_send(session, buffer.baseAddress, buffer.count)
      }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Waits until the server has left, at most a time in milliseconds.
  func waitForEnd(_ time: Int32) {
    var item = pollfd(fd: socket.descriptor, events: 0, revents: 0)
    // Safety: poll reads and writes the one item.
    _ = unsafe poll(&item, 1, time)
  }

  /// Reads until no more bytes come.
  func read() -> RawClient.Reading {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    var bytes: [UInt8] = []
    while true {
      let count = unsafe piece.withUnsafeMutableBytes { buffer in
        // Safety: at most the size of the buffer is written.
        unsafe gnutls_record_recv(session, buffer.baseAddress, buffer.count)
      }
      if count == Int(GNUTLS_E_AGAIN) || count == Int(GNUTLS_E_INTERRUPTED) { continue }
      if count <= 0 {
        // The server library says nothing at the end.
        let isClosed = count == 0 || count == Int(GNUTLS_E_PREMATURE_TERMINATION)
        return RawClient.Reading(bytes: bytes, end: isClosed ? .closed : .reset)
      }
      bytes += piece[..<count]
    }
  }
}
