internal import HTTPSemantics

/// Compares the length of a body with that of its response (RFC 9110, section 8.6).
enum BodyLength {
  /// Returns the length that a body should have; `nil` if it has that length, or the length is not
  /// known.
  ///
  /// Only a body that is too short counts as wrong, because it was truncated. A longer one may have
  /// been decoded by a program that left no trace of that. If a content coding is named,
  /// `Content-Length` is the length of the coded body, and the archive has that of the decoded one.
  ///
  /// - Parameters:
  ///   - length: The length of the stored body.
  ///   - decoded: The length of the decoded body, from the archive.
  static func missed(
    by length: UInt64, _ fields: HTTPFields, method: String, status: Int, decoded: Int?
  ) -> UInt64? {
    // The fields of a HEAD and of a 304 describe the response to a GET, and the body of a redirect
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
