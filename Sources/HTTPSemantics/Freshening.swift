/// Updates stored responses from newer messages that confirm them (RFC 9111, sections 3.2, 4.3.3 to
/// 4.3.5).
public enum Freshening {
  /// Returns the fields of a stored response, replaced by those of a newer message (RFC 9111,
  /// section 3.2).
  ///
  /// These fields are not replaced: those that belong to the stored bytes (`Content-Length`,
  /// `Content-Encoding`, `Content-Range`, `Content-Digest`), and those that are never stored. `Age`
  /// and `Date` are always those of the newer message, even if it has none, because they describe the
  /// message and not the representation. With the old ones, the response would seem old immediately
  /// after its validation.
  ///
  /// - Parameters:
  ///   - stored: The stored fields, which keep their order.
  ///   - update: The fields of a 304, of a 200 to `HEAD`, or of a 206 to be combined.
  ///   - received: The time of the newer message; used as its `Date` if it has none (RFC 9110,
  ///     6.6.1).
  /// - Complexity: O(*n* + *m*) in the size of both.
  public static func freshened(
    _ stored: HTTPFields, by update: HTTPFields, receivedAt received: HTTPDate
  ) -> HTTPFields {
    var changes = ConnectionFields.removed(from: update).filter { !isKept($0.name) }
    if !changes.contains(where: { $0.isNamed("Date") }) {
      changes.append(HTTPField("Date", received.description))
    }
    var replaced = Set(changes.map { ASCII.lowercased($0.name.utf8) })
    replaced.insert("age")
    let rest = stored.filter { !replaced.contains(ASCII.lowercased($0.name.utf8)) }
    return HTTPFields(rest + changes)
  }

  /// Returns whether a field describes the stored bytes, or is never stored, so that it must not be
  /// replaced.
  private static func isKept(_ name: String) -> Bool {
    ConnectionFields.isForProxies(name)
      || ["Content-Length", "Content-Encoding", "Content-Range", "Content-Digest", "Trailer"]
        .contains { ASCII.equalsIgnoringCase($0, name) }
  }

  /// Returns the indexes of the stored responses that a 304 confirms (RFC 9111, section 4.3.4).
  ///
  /// The first one is the response to use. The result is empty if the 304 refers to a response that
  /// is not stored. Then no response may be updated, and the request has to be sent again without
  /// conditions.
  ///
  /// A 304 without validators does not identify a response. According to RFC 9111, it updates a
  /// response that has no validator either. Here it also updates the response that was validated if
  /// there was only one: many servers omit the tag in a 304, and it cannot refer to any other
  /// response.
  ///
  /// - Parameters:
  ///   - stored: The responses that the request was validating, see ``HTTPRequest/validating(_:)``.
  ///   - update: The fields of the 304.
  ///   - now: The time at which it was received.
  public static func chosen(
    from stored: [StoredResponse], by update: HTTPFields, now: HTTPDate
  ) -> [Int] {
    let new = Validators(update, now: now)
    if new.isEmpty { return stored.count == 1 ? [0] : [] }
    let candidates = stored.indices.map { (index: $0, validators: Validators(stored[$0])) }
    if new.isStrong {
      let strong = candidates.filter { new.matchStrongly($0.validators) }
      if !strong.isEmpty { return latestFirst(strong.map(\.index), of: stored) }
      // If a strong tag does not match, the search ends. A strong date may still match as a weak
      // one if the stored response has a tag that this 304 omits.
      if new.entityTag != nil { return [] }
    }
    let weak = candidates.filter { new.matchWeakly($0.validators) }
    return Array(latestFirst(weak.map(\.index), of: stored).prefix(1))
  }

  /// Returns the index of the stored response that a 304 confirms without updating it.
  ///
  /// Some servers answer a validation of `W/"a"` with a 304 that has `"a"`, for example nginx for
  /// compressed content. RFC 9111, section 4.3.4, forbids using its fields; but it confirms that
  /// the stored response with the tag `W/"a"` may be used for this request.
  ///
  /// - Parameters:
  ///   - stored: The responses that the request was validating.
  ///   - update: The fields of a 304 for which ``chosen(from:by:now:)`` returned an empty array.
  public static func confirmed(from stored: [StoredResponse], by update: HTTPFields) -> Int? {
    guard let tag = update.first(named: "ETag").flatMap({ EntityTag($0.value) }), tag.isWellFormed
    else { return nil }
    let alike = stored.indices.filter { stored[$0].facts.entityTag?.matchesWeakly(tag) ?? false }
    return alike.count == 1 ? alike[0] : nil
  }

  private static func latestFirst(_ indexes: [Int], of stored: [StoredResponse]) -> [Int] {
    indexes.sorted { time(of: stored[$0]) > time(of: stored[$1]) }
  }

  private static func time(of stored: StoredResponse) -> HTTPDate {
    stored.facts.date ?? stored.responseTime
  }

  /// The effect of a newer message without the whole content on a stored response to `GET`.
  public enum Outcome: Sendable, Hashable {
    /// The stored response is current: ``freshened(_:by:receivedAt:)`` returns its new fields.
    case freshen
    /// The stored response has another state of the representation: it is stale from now on.
    case invalidate
    /// The message gives no information.
    case nothing
  }

  /// Compares the validators and the complete length of a newer message with those of a stored response
  /// that could have been chosen for the request (RFC 9111, section 4.3.5).
  ///
  /// - Parameters:
  ///   - head: The response to `HEAD`, of which only a 200 gives information about the response to a
  ///     `GET`; or a part, a 206.
  ///   - stored: The stored response.
  ///   - bodyLength: The number of bytes of the stored body; `nil` if it is unknown.
  public static func outcome(
    of head: HTTPResponseHead, for stored: StoredResponse, bodyLength: UInt64?
  ) -> Outcome {
    guard head.status == 200 || head.status == 206, stored.status == 200 || stored.status == 206
    else { return .nothing }
    var isConfirmed = false
    for name in ["ETag", "Last-Modified"] {
      guard let new = head.fields.first(named: name) else { continue }
      guard let old = stored.fields.first(named: name) else { return .invalidate }
      if new.value == old.value {
        isConfirmed = true
        continue
      }
      // A server that codes whole responses gives only their tags `W/`.
      guard head.status == 206, let tag = EntityTag(old.value), tag.matchesWeakly(new.value[...])
      else { return .invalidate }
    }
    if isOfOtherLength(head, stored, bodyLength) { return .invalidate }
    // Without a validator the representation may have changed, also if it is as long as before.
    return isConfirmed ? .freshen : .nothing
  }

  private static func isOfOtherLength(
    _ head: HTTPResponseHead, _ stored: StoredResponse, _ bodyLength: UInt64?
  ) -> Bool {
    let known = stored.status == 206 ? stored.contentRange?.completeLength : bodyLength
    guard let known else { return false }
    if head.status == 206 {
      let codings = [head.fields, stored.fields].map { $0.combinedValue(of: "Content-Encoding") }
      guard codings[0] == codings[1] else { return false }
      return ContentRange(of: head.fields)?.completeLength.map { $0 != known } ?? false
    }
    guard let field = head.fields.first(named: "Content-Length") else { return false }
    return FieldBytes.number(FieldBytes.trimmed(field.value[...])) != known
  }
}
