internal import CacheFormat
internal import HTTPSemantics

enum HTTPEntry {
  /// Throws for methods whose responses are not kept.
  static func check(method: String) throws(RowError) {
    guard method == "GET" || method == "HEAD" else {
      throw RowError.skip(.methodNotCacheable, RowError.excerpt(method))
    }
  }

  /// Throws for responses that are no whole answer to a request: interim ones (RFC 9110, section
  /// 15.2), a part (206), and the confirmation of a stored response (304).
  static func check(status: Int) throws(RowError) {
    if status == 206 { throw RowError.skip(.partialContent, "") }
    if status < 200 || status == 304 { throw RowError.skip(.noWholeAnswer, "\(status)") }
  }

  static func make(
    url: String, method: String, _ response: ArchivedResponse, _ found: BodyPlaces.Found
  ) throws(RowError) -> SourceEntry {
    try check(status: response.status)
    // A value in the database is complete; only a file can have been truncated later.
    if found.body.isFile,
      let missed = BodyLength.missed(
        by: found.body.length, response.fields, method: method, status: response.status,
        decoded: response.length)
    {
      throw RowError.skip(.sizeMismatch, "\(found.body.length) bytes instead of \(missed)")
    }
    var entry = SourceEntry(
      url: url, method: method, status: response.status, fields: response.fields, body: found.body)
    entry.obsoleteFields = ObsoleteFields.names(
      in: response.fields, method: method, start: found.start, length: found.body.length,
      expected: response.length)
    if response.isStatusMadeUp { entry.madeUp = [.status, .fields] }
    entry.received = response.received
    entry.responseURL = response.url
    return entry
  }

  /// Returns the time until which a response is fresh by its own fields (RFC 9111, section 4.2.1).
  static func freshUntil(_ response: ArchivedResponse) -> Timestamp? {
    let received = response.received ?? Timestamp(nanoseconds: 0)
    let second = HTTPDate(seconds: received.nanoseconds / 1_000_000_000)
    let facts = ResponseFacts(response.fields, rules: CacheRules(), now: second)
    if let seconds = facts.directives.maxAge {
      let start = facts.date.map { Timestamp(seconds: Double($0.seconds)) } ?? response.received
      return start?.advanced(bySeconds: Double(seconds))
    }
    guard case .at(let time) = facts.expires else { return nil }
    return Timestamp(seconds: Double(time.seconds))
  }
}
