/// The validators of one state of a representation (RFC 9110, section 8.8).
struct Validators {
  /// The seconds by which `Date` must be after `Last-Modified` for this to be strong.
  ///
  /// RFC 9110, section 8.8.2.2, requires one second and a reason to believe that both times come
  /// from the same clock. RFC 7232 required a minute without such a reason.
  static let strongDateDistance: Int64 = 60

  let entityTag: EntityTag?
  let lastModified: HTTPDate?
  /// The `Date` of the message that had the bytes.
  let date: HTTPDate?

  init(_ stored: StoredResponse) {
    entityTag = stored.facts.entityTag
    lastModified = stored.facts.lastModified
    date = stored.bodyDate
  }

  /// Reads the validators of a message that was just received.
  init(_ fields: HTTPFields, now: HTTPDate) {
    entityTag = fields.first(named: "ETag").flatMap { EntityTag($0.value) }
    lastModified = fields.first(named: "Last-Modified").flatMap { HTTPDate($0.value, now: now) }
    date = fields.date(now: now)
  }

  var isEmpty: Bool { entityTag == nil && lastModified == nil }

  /// Whether `Last-Modified` must change if the bytes change (RFC 9110, section 8.8.2.2).
  var hasStrongDate: Bool {
    guard let lastModified, let date else { return false }
    return date.seconds(since: lastModified) >= Self.strongDateDistance
  }

  /// Whether the response can be identified strongly: by its tag, or without a tag by its date.
  var isStrong: Bool { entityTag?.isStrong ?? hasStrongDate }

  /// Returns whether both identify the same bytes.
  ///
  /// The dates count only if neither has a tag: a different, new or missing tag is better evidence
  /// than an equal second.
  func matchStrongly(_ other: Validators) -> Bool {
    if let entityTag, let otherTag = other.entityTag { return entityTag.matchesStrongly(otherTag) }
    guard entityTag == nil, other.entityTag == nil else { return false }
    return hasStrongDate && other.hasStrongDate && lastModified == other.lastModified
  }

  /// Returns whether both identify the same representation, possibly with other bytes.
  func matchWeakly(_ other: Validators) -> Bool {
    if let entityTag, let otherTag = other.entityTag { return entityTag.matchesWeakly(otherTag) }
    return lastModified != nil && lastModified == other.lastModified
  }
}

extension HTTPFields {
  /// Returns the time in `Date`; `nil` without a valid one.
  package func date(now: HTTPDate) -> HTTPDate? {
    first(named: "Date").flatMap { HTTPDate($0.value, now: now) }
  }
}
