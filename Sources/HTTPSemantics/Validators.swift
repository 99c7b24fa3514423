/// Holds what tells one state of a representation from another (RFC 9110, section 8.8).
struct Validators {
  /// The seconds that `Date` has to be after `Last-Modified` before this counts as strong.
  ///
  /// RFC 9110, section 8.8.2.2, asks for one second and for a reason to believe that both are of
  /// one clock; a minute is what RFC 7232 named where there is no such reason.
  static let strongDateDistance: Int64 = 60

  let entityTag: EntityTag?
  let lastModified: HTTPDate?
  let date: HTTPDate?

  init(_ stored: StoredResponse) {
    entityTag = stored.facts.entityTag
    lastModified = stored.facts.lastModified
    date = stored.facts.date
  }

  /// Reads the validators of a message that has just come.
  init(_ fields: HTTPFields, now: HTTPDate) {
    entityTag = fields.first(named: "ETag").flatMap { EntityTag($0.value) }
    lastModified = fields.first(named: "Last-Modified").flatMap {
      HTTPDate($0.value.span, now: now)
    }
    date = fields.first(named: "Date").flatMap { HTTPDate($0.value.span, now: now) }
  }

  var isEmpty: Bool { entityTag == nil && lastModified == nil }

  /// Tells whether `Last-Modified` cannot stay the same when the bytes change (RFC 9110, section
  /// 8.8.2.2).
  var hasStrongDate: Bool {
    guard let lastModified, let date else { return false }
    return date.seconds(since: lastModified) >= Self.strongDateDistance
  }

  /// Tells whether one of the validators is strong.
  var isStrong: Bool { entityTag?.isStrong ?? hasStrongDate }

  /// Tells whether both stand for the same bytes.
  ///
  /// The dates count only where neither has a tag: different tags, or a tag that has come or gone,
  /// say more than an equal second.
  func matchStrongly(_ other: Validators) -> Bool {
    if let entityTag, let otherTag = other.entityTag { return entityTag.matchesStrongly(otherTag) }
    guard entityTag == nil, other.entityTag == nil else { return false }
    return hasStrongDate && other.hasStrongDate && lastModified == other.lastModified
  }

  /// Tells whether both stand for the same representation, perhaps in other bytes.
  func matchWeakly(_ other: Validators) -> Bool {
    if let entityTag, let otherTag = other.entityTag { return entityTag.matchesWeakly(otherTag) }
    return lastModified != nil && lastModified == other.lastModified
  }
}
