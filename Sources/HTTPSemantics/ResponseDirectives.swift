/// The cache directives of a response (RFC 9111, section 5.2.2; RFC 5861; RFC 8246; RFC 9213).
///
/// A malformed argument is interpreted in the safe way: a lifetime as 0, a permission as absent, a
/// field list as the whole response, a prohibition as if it had no argument. If a lifetime is
/// repeated, the first one counts (RFC 9111, section 4.2.1).
public struct ResponseDirectives: Sendable, Hashable {
  /// The freshness lifetime in seconds.
  public var maxAge: Int64?
  /// The freshness lifetime in a shared cache, in seconds.
  public var sMaxAge: Int64?
  /// The seconds for which a stale response may be used while it is validated (RFC 5861).
  public var staleWhileRevalidate: Int64?
  /// The seconds for which a stale response may be used in place of an error (RFC 5861).
  public var staleIfError: Int64?
  /// Whether nothing of the response may be stored.
  public var noStore = false
  /// Whether a stale response must never be used without validation.
  public var mustRevalidate = false
  /// Whether ``mustRevalidate`` applies in shared caches.
  public var proxyRevalidate = false
  /// Whether only caches that understand the status may store the response.
  public var mustUnderstand = false
  /// Whether any cache may store the response.
  public var isPublic = false
  /// Whether the response does not change while it is fresh (RFC 8246).
  public var immutable = false
  /// The fields, or the response, that must not be used without validation.
  public var noCache = FieldList.absent
  /// The fields, or the response, that only private caches may store.
  public var isPrivate = FieldList.absent
  /// Whether a targeted field replaced `Cache-Control` and `Expires` (RFC 9213).
  public internal(set) var isTargeted = false

  /// Creates an empty set of directives.
  public init() {}

  /// Reads the directives of a response.
  ///
  /// - Complexity: O(*n*) in the bytes of `Cache-Control` and the targeted fields.
  public init(_ fields: HTTPFields, rules: CacheRules) {
    if let targeted = ResponseDirectives(targetedIn: fields, rules.targetedFields) {
      self = targeted
      return
    }
    for field in fields where field.isNamed("Cache-Control") {
      field.value.withSpan { add($0) }
    }
  }

  mutating func add(_ line: Span<UInt8>) {
    var cursor = ListSyntax.Cursor()
    while let member = cursor.next(in: line) {
      guard let syntax = DirectiveSyntax(line, member) else { continue }
      add(syntax.directive, syntax.argument, line)
    }
  }

  private mutating func add(
    _ directive: CacheDirective, _ argument: DirectiveSyntax.Argument, _ line: Span<UInt8>
  ) {
    switch directive {
    case .maxAge: maxAge = maxAge ?? argument.seconds(line) ?? 0
    case .sMaxAge: sMaxAge = sMaxAge ?? argument.seconds(line) ?? 0
    case .staleWhileRevalidate:
      staleWhileRevalidate = staleWhileRevalidate ?? argument.seconds(line) ?? 0
    case .staleIfError: staleIfError = staleIfError ?? argument.seconds(line) ?? 0
    case .noCache: noCache.add(argument.fieldList(line))
    case .isPrivate: isPrivate.add(argument.fieldList(line))
    default: add(directive, isBare: argument.isAbsent)
    }
  }

  /// Adds a directive that should have no argument. A prohibition counts even if it has one.
  mutating func add(_ directive: CacheDirective, isBare: Bool) {
    switch directive {
    case .noStore: noStore = true
    case .mustRevalidate: mustRevalidate = true
    case .proxyRevalidate: proxyRevalidate = true
    case .mustUnderstand: mustUnderstand = mustUnderstand || isBare
    case .isPublic: isPublic = isPublic || isBare
    case .immutable: immutable = immutable || isBare
    default: break
    }
  }
}
