/// The meaning of a response's fields for a cache, parsed once.
///
/// If a field that must not be repeated is repeated, the first line counts (RFC 9111, sections
/// 4.2.1 and 5.1).
public struct ResponseFacts: Sendable, Hashable {
  /// The value of `Expires` (RFC 9111, section 5.3).
  public enum Expires: Sendable, Hashable {
    /// There is no such field.
    case absent
    /// The field is not a date: the response was stale from the start.
    case invalid
    /// The response is stale after this time.
    case at(HTTPDate)
  }

  /// The directives.
  public let directives: ResponseDirectives
  /// The time at which the origin made the message, by its own clock; `nil` without a valid `Date`.
  public let date: HTTPDate?
  /// The seconds in `Age`; 0 without a valid one, at most ``DeltaSeconds/maximum``.
  public let age: Int64
  /// The value of `Expires`; ``Expires/absent`` if a targeted field replaces it.
  public let expires: Expires
  /// The time of the last change of the representation; `nil` without a valid `Last-Modified`.
  public let lastModified: HTTPDate?
  /// The entity tag; `nil` if there is none.
  public let entityTag: EntityTag?

  /// Reads the fields of a response.
  ///
  /// - Parameters:
  ///   - fields: The fields of the response.
  ///   - rules: The rules, which contain the names of the targeted fields.
  ///   - now: The time of receipt, for interpreting two-digit years.
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
  /// The value of the first line with a name, even if it is invalid, so that a second line is
  /// ignored.
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

  /// Reads one field. The length of its name excludes most of the other fields.
  mutating func take(_ field: HTTPField, targetedFields: [String]) {
    switch field.name.utf8.count {
    case 3: if field.isNamed("Age") { field.value.withSpan { takeAge($0) } }
    case 4:
      if field.isNamed("Date") {
        date = date ?? First(value: HTTPDate(field.value, now: now))
      } else if field.isNamed("ETag") {
        entityTag = entityTag ?? First(value: EntityTag(field.value))
      }
    case 7: if field.isNamed("Expires") { takeExpires(field.value) }
    case 13:
      if field.isNamed("Cache-Control") {
        field.value.withSpan { directives.add($0) }
      } else if field.isNamed("Last-Modified") {
        lastModified = lastModified ?? First(value: HTTPDate(field.value, now: now))
      }
    default: break
    }
    if !hasTargetedField, !targetedFields.isEmpty {
      hasTargetedField = targetedFields.contains { field.isNamed($0) }
    }
  }

  /// Reads the first member of the first line (RFC 9111, section 5.1).
  private mutating func takeAge(_ value: Span<UInt8>) {
    guard age == nil else { return }
    var end = 0
    while end < value.count, value[end] != UInt8(ascii: ",") { end += 1 }
    age = DeltaSeconds.parse(value, in: ListSyntax.trimmed(value, 0..<end)) ?? 0
  }

  private mutating func takeExpires(_ value: [UInt8]) {
    guard expires == .absent else { return }
    if let date = HTTPDate(value, now: now) {
      expires = .at(date)
    } else {
      expires = .invalid
    }
  }
}
