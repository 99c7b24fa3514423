internal import HTTPSemantics

/// Finds the fields that do not describe the body as it is stored.
///
/// Apple's URL loading stores the decoded body with the fields as they were received.
enum ObsoleteFields {
  /// Returns the names of the fields to leave out.
  ///
  /// - Parameters:
  ///   - start: The first bytes of the body; two are used.
  ///   - expected: The length of the decoded body, from the archive.
  static func names(
    in fields: HTTPFields, method: String, start: [UInt8], length: UInt64, expected: Int?
  ) -> [String] {
    // The fields of a HEAD describe the response to a GET.
    if method == "HEAD" { return [] }
    var names: [String] = []
    if isDecoded(fields, start, length, expected) {
      names = ["Content-Encoding", "Content-Length"].filter { fields.contains($0) }
    }
    // Apple writes "Identity" there, which is not a transfer coding.
    return names + (fields.contains("Transfer-Encoding") ? ["Transfer-Encoding"] : [])
  }

  private static func isDecoded(
    _ fields: HTTPFields, _ start: [UInt8], _ length: UInt64, _ expected: Int?
  ) -> Bool {
    guard let coding = fields.combinedValue(of: "Content-Encoding") else { return false }
    let expected = expected.flatMap { UInt64(exactly: $0) }
    let outermost = coding.split(separator: UInt8(ascii: ",")).last ?? []
    guard String(decoding: outermost, as: UTF8.self).lowercased().contains("gzip") else {
      // Other codings cannot be recognised by the body. If it has the length that was sent, it is
      // as it was sent, unless the archive has a length for the decoded body.
      return expected != nil || fields.contentLength != length
    }
    guard start.starts(with: [0x1f, 0x8b]) else { return true }
    // The body is gzip. It was also sent as gzip, unless its length is that of the decoded body,
    // which is then a gzip file itself.
    return expected == length && fields.contentLength != length
  }
}
