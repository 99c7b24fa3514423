import CLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports

/// Writes interim answers, such as `103 Early Hints` (RFC 8297).
enum InterimAnswer {
  /// The limit on the length of an interim answer that is passed on, in bytes.
  static let maximumLength = 16 * 1024

  /// A `100` without fields.
  static let proceed = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  static func bytes(of head: HTTPResponseHead, via: String) -> [UInt8]? {
    var lines: [UInt8] = []
    for field in ConnectionFields.removed(from: head.fields) where field.isValid {
      // An interim answer has no body and no length (RFC 9110, section 8.6).
      if field.isNamed("Content-Length") { continue }
      lines += Array(field.name.utf8) + [0] + field.value + [0]
      if lines.count > maximumLength { return nil }
    }
    return EarlyAnswer.plainHead(status: head.status, lines: lines + Array("Via\0\(via)\0".utf8))
  }

  /// Writes to a connection to which no other code writes now. Never waits: a thread of the transport,
  /// on which all transfers depend, calls it.
  ///
  /// The bytes are left out if the socket has little room: a client that does not read has no use for
  /// hints.
  static func write(_ bytes: [UInt8], to connection: ClientConnection) {
    write(bytes, to: connection.socket, connection.encryptedEnd())
  }

  /// Writes to a socket, with TLS if there is a session, or leaves the bytes out.
  static func write(_ bytes: [UInt8], to socket: Int32, _ tls: EncryptedEnd?) {
    // A socket that poll(2) reports has more room than an interim answer needs.
    guard Poll.isReady(socket, for: POLLOUT) else { return }
    var sent = 0
    while sent < bytes.count {
      let transfer = unsafe bytes[sent...].withUnsafeBytes { rest in
        if let tls { unsafe tls.write(rest) } else { unsafe SocketEnd.write(rest, to: socket) }
      }
      guard case .bytes(let count) = transfer else {
        // A part of an answer, or of a TLS record, cannot be taken back: the following bytes would be
        // read as its rest.
        if tls != nil || sent > 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        return
      }
      sent += count
    }
  }
}
