package import HTTPSemantics

extension HTTPFields {
  /// Removes what holds only for the bytes of a coded body, because the body was decoded. A strong tag
  /// belongs to one sequence of bytes (RFC 9110, section 8.8.3), so it becomes weak.
  package mutating func markDecoded() {
    let coded = [
      "Content-Encoding", "Content-Length", "Content-MD5", "Content-Digest", "Digest",
      "Repr-Digest", "Accept-Ranges",
    ]
    for name in coded { removeAll(named: name) }
    self = HTTPFields(
      map { field in
        field.isNamed("ETag") && field.text.hasPrefix("\"")
          ? HTTPField(field.name, "W/" + field.text) : field
      })
  }
}
