/// Updates stored responses from newer ones that say they are still current (RFC 9111, sections
/// 3.2, 4.3.3 to 4.3.5).
public enum Freshening {
  /// Returns the fields of a stored response after those of a newer one have been put in place of
  /// them (RFC 9111, section 3.2).
  ///
  /// Left as they are: the fields that are bound to the stored bytes (`Content-Length`,
  /// `Content-Encoding`, `Content-Range`) and those that are never stored. `Age` and `Date` are
  /// those of the newer message even if it has none, since they tell of the message and not of the
  /// representation; the old ones would make the response look old the moment it was validated.
  ///
  /// - Parameters:
  ///   - stored: The stored fields, which keep their order.
  ///   - update: The fields of a 304, of a 200 to `HEAD`, or of a 206 to be combined.
  ///   - received: When the newer message came; its `Date` if it has none (RFC 9110, 6.6.1).
  /// - Complexity: O(*n* + *m*) in the size of both.
  public static func freshened(
    _ stored: HTTPFields, by update: HTTPFields, receivedAt received: HTTPDate
  ) -> HTTPFields {
    var changes = ConnectionFields.removed(from: update).filter { !isKept($0.name) }
    if !changes.contains(where: { $0.isNamed("Date") }) {
      changes.append(HTTPField("Date", received.description))
    }
    var replaced = Set(changes.map { ConnectionFields.lowercased($0.name) })
    replaced.insert("age")
    let rest = stored.filter { !replaced.contains(ConnectionFields.lowercased($0.name)) }
    return HTTPFields(rest + changes)
  }

  /// Tells whether a field stays what it is for as long as the stored bytes do, or is not stored.
  private static func isKept(_ name: String) -> Bool {
    ConnectionFields.isForProxies(name)
      || ["Content-Length", "Content-Encoding", "Content-Range", "Trailer"]
        .contains { ASCII.equalsIgnoringCase($0, name) }
  }

  /// Returns which stored responses a 304 says to be current (RFC 9111, section 4.3.4), as indexes.
  ///
  /// The first one is to be the answer. It is empty if the 304 is about something that is not
  /// stored: then nothing may be updated, and the request has to be sent again without conditions.
  ///
  /// A 304 without validators cannot name what it means. RFC 9111 has it update a response that
  /// has no validator either; here it also updates the only one that the request asked about,
  /// as many servers leave out the tag in a 304, and no other response can be meant.
  ///
  /// - Parameters:
  ///   - stored: The responses that the request was validating, see ``HTTPRequest/validating(_:)``.
  ///   - update: The fields of the 304.
  ///   - now: When it came.
  public static func chosen(
    from stored: [StoredResponse], by update: HTTPFields, now: HTTPDate
  ) -> [Int] {
    let new = Validators(update, now: now)
    if new.isEmpty { return stored.count == 1 ? [0] : [] }
    let candidates = stored.indices.map { (index: $0, validators: Validators(stored[$0])) }
    if new.isStrong {
      let strong = candidates.filter { new.matchStrongly($0.validators) }
      if !strong.isEmpty { return latestFirst(strong.map(\.index), of: stored) }
      // A strong tag that matches none forbids to go on; a date may still match as a weak one,
      // where it was stored with a tag that this 304 does not repeat.
      if new.entityTag != nil { return [] }
    }
    let weak = candidates.filter { new.matchWeakly($0.validators) }
    return Array(latestFirst(weak.map(\.index), of: stored).prefix(1))
  }

  /// Returns which stored response a 304 confirms though it must not update any, as an index.
  ///
  /// Some servers answer a question about `W/"a"` with a 304 that has `"a"`, as nginx does for
  /// content that it compresses. RFC 9111, section 4.3.4, forbids to take its fields; still it says
  /// that the response with the tag that was asked about may be used this once.
  ///
  /// - Parameters:
  ///   - stored: The responses that the request was validating.
  ///   - update: The fields of a 304 for which ``chosen(from:by:now:)`` has returned nothing.
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

  /// Tells what an answer to `HEAD` means for a stored response to `GET`.
  public enum HeadOutcome: Sendable, Hashable {
    /// It is current: ``freshened(_:by:receivedAt:)`` gives its new fields.
    case freshen
    /// It is of another state of the representation: it counts as stale from now on.
    case invalidate
    /// The answer says nothing about it.
    case nothing
  }

  /// Compares an answer to `HEAD` with a stored response that could have been chosen for the
  /// request (RFC 9111, section 4.3.5).
  ///
  /// - Parameters:
  ///   - head: The answer; only a 200 says something about the response to a `GET`.
  ///   - stored: The stored response.
  ///   - bodyLength: The bytes of the stored body.
  public static func outcome(
    ofHead head: HTTPResponseHead, for stored: StoredResponse, bodyLength: UInt64
  ) -> HeadOutcome {
    guard head.status == 200, stored.status == 200 || stored.status == 206 else { return .nothing }
    for name in ["ETag", "Last-Modified"] {
      guard let new = head.fields.first(named: name) else { continue }
      guard new.value == stored.fields.first(named: name)?.value else { return .invalidate }
    }
    if let field = head.fields.first(named: "Content-Length") {
      let known = stored.status == 206 ? stored.contentRange?.completeLength : bodyLength
      if let known, FieldBytes.number(FieldBytes.trimmed(field.value[...])) != known {
        return .invalidate
      }
    }
    return .freshen
  }
}
