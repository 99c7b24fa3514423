import ClientTesting

extension ScriptedTransport.Answer {
  /// An answer with a content coding, in pieces.
  static func coded(_ name: String, _ bytes: [UInt8], pieceBytes: Int = .max) -> Self {
    var fields = fresh(tag: "1", vary: "Accept-Encoding")
    fields.append(HTTPField("Content-Encoding", name))
    fields.append(HTTPField("Content-Length", "\(bytes.count)"))
    let pieces = stride(from: 0, to: bytes.count, by: min(pieceBytes, bytes.count)).map { start in
      Array(bytes[start..<min(bytes.count, start + min(pieceBytes, bytes.count))])
    }
    return Self(pieces, fields: fields)
  }
}
