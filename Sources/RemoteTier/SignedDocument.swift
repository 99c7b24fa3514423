import CacheFormat
import MessageDigests

/// The outer form of all documents: an ActionResult of Bazel's HTTP cache in JSON, whose
/// `stdoutRaw` has the signature and the inner document.
///
/// A server that knows ActionResults answers 404 if a body that one names is gone, and counts the
/// bodies as used. It may write the outer document anew, so only the inner one is signed.
enum SignedDocument {
  static func encode(
    _ inner: [UInt8], bodies: [(digest: [UInt8], length: UInt64)], secret: [UInt8]
  ) -> [UInt8] {
    let code = MessageDigest.authenticationCode(of: inner, key: secret, .sha256)
    let raw = Base64.encode(Array(code.hexadecimal.utf8) + [0x0a] + inner)
    let files = bodies.enumerated().map { number, body in
      // Protocol buffers write 64-bit numbers as strings.
      let digest = JSONText.object([
        ("hash", .string(body.digest.hexadecimal)), ("sizeBytes", .string("\(body.length)")),
      ])
      return JSONText.object([("path", .string("\(number)")), ("digest", digest)])
    }
    let document = JSONText.object([("outputFiles", .array(files)), ("stdoutRaw", .string(raw))])
    return Array(document.line.utf8)
  }

  /// Returns the inner document, whose signature is right.
  ///
  /// - Throws: `FormatError` for anything else.
  static func decode(_ bytes: [UInt8], secret: [UInt8]) throws(FormatError) -> [UInt8] {
    guard bytes.count <= SharedDocument.maximumBytes else {
      throw FormatError(.tooLarge, "the document has \(bytes.count) bytes")
    }
    var raw: [UInt8]?
    try JSONObject.read(bytes) { (reader, name) throws(FormatError) in
      guard name == "stdoutRaw" || name == "stdout_raw" else { return try reader.skipValue() }
      raw = Base64.decode(try reader.readByteString().bytes)
    }
    guard let raw, raw.count > 65, raw[64] == 0x0a else {
      throw FormatError(.missingMember, "the document has no signed part")
    }
    let inner = Array(raw[65...])
    let code = MessageDigest.authenticationCode(of: inner, key: secret, .sha256)
    guard isEqual(Array(code.hexadecimal.utf8), Array(raw[..<64])) else {
      throw FormatError(.wrongChecksum, "the signature of the document is wrong")
    }
    return inner
  }

  /// Compares without a shortcut, so that the time tells nothing about the place of a difference.
  static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
