/// Evaluates the conditions of a client's request against a stored response that may be used
/// (RFC 9111, section 4.3.2; RFC 9110, section 13.2.2).
public enum Preconditions {
  /// Tells what the conditions of a request come to.
  public enum Outcome: Sendable, Hashable {
    /// No condition hinders: the stored response is the answer.
    case proceed
    /// The client has it already: the answer is 304 with ``notModifiedFields(of:)``.
    case notModified
    /// Only the origin may judge: `If-Match` or `If-Unmodified-Since` does not fit the stored
    /// response, so the request has to go forward as it is.
    case originDecides
  }

  /// Evaluates the conditions of a request.
  ///
  /// `If-Range` is no part of it, see ``RangeAnswer``.
  ///
  /// - Parameter now: The current time, by which two-digit years are understood.
  /// - Complexity: O(*n*) in the number of fields and the length of the conditions.
  public static func evaluate(
    _ request: HTTPRequest, against stored: StoredResponse, now: HTTPDate
  ) -> Outcome {
    let conditions = Conditions(request.fields)
    // Conditions count only where the answer without them would be a 2xx (RFC 9110, 13.2.1).
    guard conditions.hasAny, (200..<300).contains(stored.status),
      request.method == .get || request.method == .head
    else { return .proceed }
    if conditions.hasMatch || conditions.hasUnmodifiedSince {
      guard isUnchanged(request.fields, stored, conditions, now: now) else { return .originDecides }
    }
    if conditions.hasNoneMatch {
      return hasTag(of: stored, request.fields) ? .notModified : .proceed
    }
    if conditions.hasModifiedSince, let since = onlyDate("If-Modified-Since", request.fields, now),
      modificationTime(of: stored) <= since
    {
      return .notModified
    }
    return .proceed
  }

  /// Returns the fields of the 304 that stands for a response (RFC 9110, section 15.4.5): all but
  /// those that describe content, which it does not have.
  ///
  /// - Parameter fields: The fields that the 200 would have had.
  public static func notModifiedFields(of fields: HTTPFields) -> HTTPFields {
    // A date beside a tag helps nobody; without a tag it tells the client which copy is meant.
    let hasTag = fields.contains("ETag")
    return HTTPFields(
      fields.filter { field in
        !describesContent(field.name) && !(hasTag && field.isNamed("Last-Modified"))
      })
  }

  private static func describesContent(_ name: String) -> Bool {
    [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
      "Content-MD5", "Content-Digest", "Transfer-Encoding", "Trailer",
    ].contains { ASCII.equalsIgnoringCase($0, name) }
  }

  /// Tells whether the stored response is what `If-Match` and `If-Unmodified-Since` ask for.
  ///
  /// A cache may ignore both (RFC 9110, sections 13.1.1 and 13.1.4), but a client that names a
  /// version does not want another one.
  private static func isUnchanged(
    _ fields: HTTPFields, _ stored: StoredResponse, _ conditions: Conditions, now: HTTPDate
  ) -> Bool {
    if conditions.hasMatch {
      guard let tag = stored.facts.entityTag, tag.isStrong else { return false }
      return fields.contains { field in
        field.isNamed("If-Match") && EntityTag.list(field.value) { $0.elementsEqual(tag.bytes) }
      }
    }
    guard let limit = onlyDate("If-Unmodified-Since", fields, now),
      let lastModified = stored.facts.lastModified
    else { return false }
    return lastModified <= limit
  }

  private static func hasTag(of stored: StoredResponse, _ fields: HTTPFields) -> Bool {
    let tag = stored.facts.entityTag
    return fields.contains { field in
      field.isNamed("If-None-Match")
        && EntityTag.list(field.value) { tag?.matchesWeakly($0) ?? false }
    }
  }

  /// Returns the time to compare with `If-Modified-Since`; without a `Last-Modified` it is when
  /// the response was made or came in (RFC 9111, section 4.3.2).
  private static func modificationTime(of stored: StoredResponse) -> HTTPDate {
    stored.facts.lastModified ?? stored.facts.date ?? stored.responseTime
  }

  /// Returns the date of a field; nil if it is none or there are several, which is to be ignored
  /// (RFC 9110, section 13.1.3).
  private static func onlyDate(
    _ name: String, _ fields: HTTPFields, _ now: HTTPDate
  ) -> HTTPDate? {
    var date: HTTPDate?
    var lines = 0
    for field in fields where field.isNamed(name) {
      date = HTTPDate(field.value.span, now: now)
      lines += 1
    }
    return lines == 1 ? date : nil
  }
}

/// Tells which conditions a request has, found in one pass over its fields.
private struct Conditions {
  var hasMatch = false
  var hasNoneMatch = false
  var hasModifiedSince = false
  var hasUnmodifiedSince = false

  init(_ fields: HTTPFields) {
    for field in fields {
      // The lengths differ, so that a name is compared at most once.
      switch field.name.utf8.count {
      case 8: if field.isNamed("If-Match") { hasMatch = true }
      case 13: if field.isNamed("If-None-Match") { hasNoneMatch = true }
      case 17: if field.isNamed("If-Modified-Since") { hasModifiedSince = true }
      case 19: if field.isNamed("If-Unmodified-Since") { hasUnmodifiedSince = true }
      default: break
      }
    }
  }

  var hasAny: Bool { hasMatch || hasNoneMatch || hasModifiedSince || hasUnmodifiedSince }
}
