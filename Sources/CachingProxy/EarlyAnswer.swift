import CMicrohttpdLibrary

/// An answer that is sent while the body of its request is still being received.
///
/// libmicrohttpd sends nothing before it has the whole request, so the exchange itself writes such
/// an answer to the socket: the head, then the pieces. The connection ends with it.
struct EarlyAnswer {
  /// The way in which the end of the body is indicated (RFC 9112, section 6).
  enum Framing: Equatable {
    /// By its length, in bytes.
    case length(UInt64)
    /// By the last chunk. If the request is chunked, so is the answer, because libmicrohttpd itself
    /// answers a broken chunk, and those bytes must not look like a part of the body.
    case chunks
    /// By the end of the connection.
    case connection
    /// There is no body; a length is stated nevertheless.
    case none(told: UInt64?)
  }

  let framing: Framing
  /// Whether the whole answer has been sent to the client.
  var isComplete = false
  /// The session of the client; `nil` without TLS.
  var tls: EncryptedEnd?
  /// Whether the next piece of the request is received although the answer has not been sent.
  var drains = false

  init(length: UInt64?, isHTTP11: Bool, isRequestChunked: Bool) {
    if let length, !isRequestChunked {
      framing = .length(length)
    } else {
      framing = isHTTP11 ? .chunks : .connection
    }
  }

  init(told: UInt64?) { framing = .none(told: told) }

  /// Returns the head, with the fields of ``AnswerLines``: name, NUL, value, NUL, and so on.
  func head(status: Int, lines: [UInt8]) -> [UInt8] {
    var lines = lines
    switch framing {
    case .length(let count), .none(let count?): lines += Array("Content-Length\0\(count)\0".utf8)
    case .chunks: lines += Array("Transfer-Encoding\0chunked\0".utf8)
    case .connection, .none(nil): break
    }
    return Self.plainHead(status: status, lines: lines)
  }

  /// Returns a head that has no other fields than those of the lines.
  static func plainHead(status: Int, lines: [UInt8]) -> [UInt8] {
    // Safety: the library returns a constant C string, which is copied.
    let phrase = unsafe MHD_get_reason_phrase_for(UInt32(clamping: status)).map {
      unsafe String(cString: $0)
    }
    var head = Array("HTTP/1.1 \(status) \(phrase ?? "")\r\n".utf8)
    for (index, part) in lines.split(separator: 0, omittingEmptySubsequences: false).enumerated() {
      if index % 2 == 1 {
        head += part + [0x0D, 0x0A]
      } else if !part.isEmpty {
        head += part + [0x3A, 0x20]
      }
    }
    return head + [0x0D, 0x0A]
  }

  /// Returns a piece of the body with its framing. An empty chunk would be the last one, so there is
  /// none for an empty piece.
  func framed(_ piece: [UInt8]) -> [UInt8] {
    guard framing == .chunks, !piece.isEmpty else { return piece }
    return Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0D, 0x0A]
  }

  /// The bytes after the last piece.
  var end: [UInt8] { framing == .chunks ? Array("0\r\n\r\n".utf8) : [] }
}
