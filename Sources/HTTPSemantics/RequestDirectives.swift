/// Holds what a request asks of caches (RFC 9111, section 5.2.1; RFC 5861, section 4).
///
/// All of this is advice to a cache. A malformed argument counts the cautious way: `max-age` as 0,
/// `min-fresh` as the maximum, and the two that permit stale answers as absent. Of two directives
/// of one name the first counts.
public struct RequestDirectives: Sendable, Hashable {
  /// Tells how stale a response the client takes (RFC 9111, section 5.2.1.2).
  public enum MaxStale: Sendable, Hashable {
    /// Any staleness: `max-stale` without an argument.
    case any
    /// At most so many seconds.
    case seconds(Int64)
  }

  /// Gives the greatest age that the client takes, in seconds.
  public var maxAge: Int64?
  /// Gives how stale a response the client takes.
  public var maxStale: MaxStale?
  /// Gives for how many seconds the response shall stay fresh at least.
  public var minFresh: Int64?
  /// Gives how many seconds stale an answer may be in place of an error (RFC 5861).
  public var staleIfError: Int64?
  /// Tells whether the answer shall not come from the store without validation.
  public var noCache = false
  /// Tells whether nothing of the exchange may be stored.
  public var noStore = false
  /// Tells whether the content shall not be transformed.
  public var noTransform = false
  /// Tells whether the answer shall come from the store or not at all.
  public var onlyIfCached = false

  /// Makes directives that ask for nothing.
  public init() {}

  /// Reads the directives of a request.
  ///
  /// `Pragma: no-cache` counts as `no-cache` where there is no `Cache-Control`, as RFC 7234, section
  /// 5.4 had it; RFC 9111 leaves that open.
  ///
  /// - Complexity: O(*n*) in the bytes of `Cache-Control` and `Pragma`.
  public init(_ fields: HTTPFields) {
    var hasCacheControl = false
    var hasPragmaNoCache = false
    for field in fields {
      let length = field.name.utf8.count
      if length == 13, field.isNamed("Cache-Control") {
        hasCacheControl = true
        add(field.value.span)
      } else if length == 6, field.isNamed("Pragma") {
        var pragma = RequestDirectives()
        pragma.add(field.value.span)
        hasPragmaNoCache = hasPragmaNoCache || pragma.noCache
      }
    }
    if hasPragmaNoCache, !hasCacheControl { noCache = true }
  }

  private mutating func add(_ line: Span<UInt8>) {
    var cursor = ListSyntax.Cursor()
    while let member = cursor.next(in: line) {
      guard let syntax = DirectiveSyntax(line, member), let name = syntax.name,
        let directive = CacheDirective(name)
      else { continue }
      add(directive, syntax.argument, line)
    }
  }

  private mutating func add(
    _ directive: CacheDirective, _ argument: DirectiveSyntax.Argument, _ line: Span<UInt8>
  ) {
    switch directive {
    case .maxAge: maxAge = maxAge ?? argument.seconds(line) ?? 0
    case .minFresh: minFresh = minFresh ?? argument.seconds(line) ?? DeltaSeconds.maximum
    case .staleIfError: staleIfError = staleIfError ?? argument.seconds(line) ?? 0
    case .maxStale:
      if case .none = argument {
        maxStale = maxStale ?? .any
      } else {
        maxStale = maxStale ?? .seconds(argument.seconds(line) ?? -1)
      }
    case .noCache: noCache = true
    case .noStore: noStore = true
    case .noTransform: noTransform = true
    case .onlyIfCached: onlyIfCached = true
    default: break
    }
  }
}

extension DirectiveSyntax.Argument {
  /// Gives the number of seconds, or nil if the argument is none.
  func seconds(_ line: Span<UInt8>) -> Int64? {
    guard case .value(let range) = self else { return nil }
    return DeltaSeconds.parse(line, in: range)
  }

  /// Gives the field names, or all where there is no list of names.
  func fieldList(_ line: Span<UInt8>) -> FieldList {
    guard case .value(let range) = self else { return .all }
    return FieldList(argument: line, in: range)
  }

  /// Tells whether there is no argument, as it should be with most directives.
  var isAbsent: Bool {
    if case .none = self { return true }
    return false
  }
}
