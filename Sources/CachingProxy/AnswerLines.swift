import HTTPSemantics

/// Builds the field lines of an answer in the form that the server library requires: name, NUL,
/// value, NUL, and so on.
enum AnswerLines {
  /// Returns the lines of an answer.
  ///
  /// Hop-by-hop fields are left out, and so are those that the library writes: `Content-Length`,
  /// and `Connection` at the end of a connection. `Via` and `Cache-Status` are added after those of
  /// the previous servers (RFC 9110, section 7.6.3; RFC 9211, section 2), and `Date` if it is
  /// missing (RFC 9110, section 6.6.1).
  ///
  /// - Parameter rewriting: Rewrites `Location` and `Content-Location` for the client.
  static func lines(
    of answer: ProxyAnswer, via: String, closes: Bool,
    rewriting: (HTTPField) -> HTTPField = { $0 }, now: () -> HTTPDate
  ) -> [UInt8] {
    var lines: [UInt8] = []
    lines.reserveCapacity(1024)
    if closes { lines += "Connection\0close\0".utf8 }
    var hasDate = false
    for field in ConnectionFields.removed(from: answer.head.fields) {
      if field.isNamed("Date") {
        guard !hasDate else { continue }
        hasDate = true
      }
      append(isReference(field) ? rewriting(field) : field, to: &lines)
    }
    if answer.head.status == 101, let name = answer.head.fields.combinedValue(of: "Upgrade") {
      append(HTTPField(name: "Upgrade", value: name), to: &lines)
    }
    if !hasDate { lines += "Date\0\(now())\0".utf8 }
    lines += "Via\0\(via)\0".utf8
    if let status = answer.cacheStatus {
      lines += "Cache-Status\0".utf8
      status.append(to: &lines)
      lines.append(0)
    }
    return lines
  }

  /// Returns whether the value of a field is a URL that clients follow.
  private static func isReference(_ field: HTTPField) -> Bool {
    switch field.name.utf8.count {
    case 8: field.isNamed("Location")
    case 16: field.isNamed("Content-Location")
    default: false
    }
  }

  private static func append(_ field: HTTPField, to lines: inout [UInt8]) {
    switch field.name.utf8.count {
    case 14 where field.isNamed("Content-Length"): return
    case 7 where field.isNamed("Trailer"): return
    default: break
    }
    // An invalid field could become two fields, or end the head.
    guard field.isValid else { return }
    lines.append(contentsOf: field.name.utf8)
    lines.append(0)
    // The library accepts no empty value. White space around a value is not part of it (RFC 9110,
    // section 5.5).
    if field.value.isEmpty { lines.append(0x20) } else { lines.append(contentsOf: field.value) }
    lines.append(0)
  }
}
