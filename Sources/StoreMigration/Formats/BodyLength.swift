internal import HTTPSemantics

/// Tells whether a body is as long as its response says (RFC 9110, section 8.6).
enum BodyLength {
  /// Gives the length that a body should have; nil where it has it, or where nothing tells.
  ///
  /// Only a body that is too short counts, as one is that was cut off. One that is longer may have been
  /// decoded by somebody who left no trace of that. Where a coding is named, `Content-Length` is that of
  /// the coded body, and the archive has that of the decoded one.
  ///
  /// - Parameters:
  ///   - length: that of the stored body.
  ///   - decoded: the length of the decoded body that the archive tells.
  static func missed(
    by length: UInt64, _ fields: HTTPFields, method: String, status: Int, decoded: Int?
  ) -> UInt64? {
    // The fields of a HEAD and of a 304 describe what a GET would get, and the body of a redirection
    // is not always kept.
    if method == "HEAD" || status < 200 || status == 204 || 300...399 ~= status { return nil }
    let decoded = decoded.flatMap { UInt64(exactly: $0) }
    if length == decoded || length == fields.contentLength { return nil }
    let isCoded = fields.combinedValue(of: "Content-Encoding").map {
      String(decoding: $0, as: UTF8.self).lowercased() != "identity"
    }
    let wanted =
      isCoded == true
      ? decoded : fields.contains("Transfer-Encoding") ? nil : fields.contentLength
    return wanted.flatMap { $0 > length ? $0 : nil }
  }
}
