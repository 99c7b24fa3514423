/// Holds what the fields of a response mean for a cache, read once.
///
/// Of a field that should stand once but comes several times the first line counts (RFC 9111,
/// sections 4.2.1 and 5.1).
public struct ResponseFacts: Sendable, Hashable {
  /// Tells what `Expires` says (RFC 9111, section 5.3).
  public enum Expires: Sendable, Hashable {
    /// There is no such field.
    case absent
    /// There is one that is no date: the response was stale from the start.
    case invalid
    /// The response is stale after this time.
    case at(HTTPDate)
  }

  /// Gives the directives.
  public let directives: ResponseDirectives
  /// Gives when the message was made, by the clock of its origin; nil without a valid `Date`.
  public let date: HTTPDate?
  /// Gives the seconds in `Age`; 0 without a valid one, at most ``DeltaSeconds/maximum``.
  public let age: Int64
  /// Gives what `Expires` says; ``Expires/absent`` where a targeted field replaces it.
  public let expires: Expires
  /// Gives when the representation was last changed; nil without a valid `Last-Modified`.
  public let lastModified: HTTPDate?
  /// Gives the entity tag; nil without one.
  public let entityTag: EntityTag?

  /// Reads the fields of a response.
  ///
  /// - Parameters:
  ///   - fields: The fields of the response.
  ///   - rules: The rules, which say what targeted fields count.
  ///   - now: The time by which two-digit years are understood: when it was received.
  /// - Complexity: O(*n*) in the number of fields and the bytes of those that matter.
  public init(_ fields: HTTPFields, rules: CacheRules, now: HTTPDate) {
    var scan = ResponseScan(now: now)
    for field in fields {
      scan.take(field, targetedFields: rules.targetedFields)
    }
    if scan.hasTargetedField,
      let targeted = ResponseDirectives(targetedIn: fields, rules.targetedFields)
    {
      scan.directives = targeted
      scan.expires = .absent
    }
    directives = scan.directives
    date = scan.date?.value
    age = scan.age ?? 0
    expires = scan.expires
    lastModified = scan.lastModified?.value
    entityTag = scan.entityTag?.value
  }
}

/// Collects the facts in one pass over the fields.
private struct ResponseScan {
  /// Holds what the first line of a name said, so that a second one is not taken for it.
  struct First<Value> {
    let value: Value?
  }

  let now: HTTPDate
  var directives = ResponseDirectives()
  var expires = ResponseFacts.Expires.absent
  var date: First<HTTPDate>?
  var lastModified: First<HTTPDate>?
  var entityTag: First<EntityTag>?
  var age: Int64?
  var hasTargetedField = false

  init(now: HTTPDate) {
    self.now = now
  }

  /// Takes one field; its length tells most of those apart that do not matter.
  mutating func take(_ field: HTTPField, targetedFields: [String]) {
    switch field.name.utf8.count {
    case 3: if field.isNamed("Age") { takeAge(field.value.span) }
    case 4:
      if field.isNamed("Date") {
        date = date ?? First(value: HTTPDate(field.value.span, now: now))
      } else if field.isNamed("ETag") {
        entityTag = entityTag ?? First(value: EntityTag(field.value))
      }
    case 7: if field.isNamed("Expires") { takeExpires(field.value.span) }
    case 13:
      if field.isNamed("Cache-Control") {
        directives.add(field.value.span)
      } else if field.isNamed("Last-Modified") {
        lastModified = lastModified ?? First(value: HTTPDate(field.value.span, now: now))
      }
    default: break
    }
    if !hasTargetedField, !targetedFields.isEmpty {
      hasTargetedField = targetedFields.contains { field.isNamed($0) }
    }
  }

  /// Takes the first member of the first line (RFC 9111, section 5.1).
  private mutating func takeAge(_ value: Span<UInt8>) {
    guard age == nil else { return }
    var end = 0
    while end < value.count, value[end] != UInt8(ascii: ",") { end += 1 }
    age = DeltaSeconds.parse(value, in: ListSyntax.trimmed(value, 0..<end)) ?? 0
  }

  private mutating func takeExpires(_ value: Span<UInt8>) {
    guard expires == .absent else { return }
    if let date = HTTPDate(value, now: now) {
      expires = .at(date)
    } else {
      expires = .invalid
    }
  }
}
