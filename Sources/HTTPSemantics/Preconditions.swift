/// Evaluates the conditions of a client's request against a stored response that may be used (RFC
/// 9111, section 4.3.2).
public enum Preconditions {
  /// Returns whether the client already has the stored response, by `If-None-Match` or, if that is
  /// absent, `If-Modified-Since` (RFC 9110, section 13.2.2). Then the answer is a 304 with
  /// ``notModifiedFields(of:)``, otherwise the stored response.
  ///
  /// `If-Match` and `If-Unmodified-Since` are for origins only (RFC 9111, section 4.3.2); requests
  /// with them should be forwarded. For `If-Range` see ``RangeAnswer``.
  ///
  /// - Parameters:
  ///   - request: The request with the conditions.
  ///   - stored: The stored response, which may be used for the request.
  ///   - now: The current time, for interpreting two-digit years.
  /// - Complexity: O(*n*) in the number of fields and the length of the conditions.
  public static func isNotModified(
    _ stored: StoredResponse, for request: HTTPRequest, now: HTTPDate
  ) -> Bool {
    // Conditions apply only if the response without them would be a 2xx (RFC 9110, 13.2.1).
    guard (200..<300).contains(stored.status), request.method == .get || request.method == .head
    else { return false }
    if let first = request.fields.firstIndex(named: "If-None-Match") {
      return hasTag(of: stored, request.fields, from: first)
    }
    // A field that is not a date or is repeated is ignored (RFC 9110, section 13.1.3).
    guard let field = request.fields.only(named: "If-Modified-Since"),
      let since = HTTPDate(field.value, now: now)
    else { return false }
    return modificationTime(of: stored) <= since
  }

  private static func hasTag(
    of stored: StoredResponse, _ fields: HTTPFields, from first: Int
  ) -> Bool {
    let tag = stored.facts.entityTag
    var line: Int? = first
    while let index = line {
      if EntityTag.list(fields[index].value, isAnyOrHas: { tag?.matchesWeakly($0) ?? false }) {
        return true
      }
      line = fields.firstIndex(named: "If-None-Match", from: index + 1)
    }
    return false
  }

  /// Returns the time to compare with `If-Modified-Since`. Without a `Last-Modified`, it is the
  /// time at which the response was made or received (RFC 9111, section 4.3.2).
  private static func modificationTime(of stored: StoredResponse) -> HTTPDate {
    stored.facts.lastModified ?? stored.facts.date ?? stored.responseTime
  }

  /// Returns the fields of the 304 in place of a response (RFC 9110, section 15.4.5): all except
  /// those that describe content, because a 304 has none.
  ///
  /// - Parameter fields: The fields that the 200 would have had.
  public static func notModifiedFields(of fields: HTTPFields) -> HTTPFields {
    // If there is a tag, the date is not needed. Without a tag, it identifies the copy.
    let hasTag = fields.contains("ETag")
    return HTTPFields(
      fields.filter { field in
        !describesContent(field.name) && !(hasTag && field.isNamed("Last-Modified"))
      })
  }

  private static func describesContent(_ name: String) -> Bool {
    [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
      "Content-MD5", "Content-Digest", "Trailer",
    ].contains { ASCII.equalsIgnoringCase($0, name) }
  }
}
