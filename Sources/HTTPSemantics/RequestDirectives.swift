/// The cache directives of a request (RFC 9111, section 5.2.1; RFC 5861, section 4).
///
/// All of them are advice to a cache. A malformed argument is interpreted in the safe way:
/// `max-age` as 0, `min-fresh` as the maximum, and the two directives that permit stale responses
/// permit none. If a directive is repeated, the first one counts.
public struct RequestDirectives: Sendable, Hashable {
  /// The staleness that the client accepts (RFC 9111, section 5.2.1.2).
  public enum MaxStale: Sendable, Hashable {
    /// Any staleness: `max-stale` without an argument.
    case any
    /// At most this many seconds.
    case seconds(Int64)
  }

  /// The maximum age that the client accepts, in seconds.
  public var maxAge: Int64?
  /// The staleness that the client accepts.
  public var maxStale: MaxStale?
  /// The minimum number of seconds for which the response must stay fresh.
  public var minFresh: Int64?
  /// The maximum staleness of a response in place of an error, in seconds (RFC 5861).
  public var staleIfError: Int64?
  /// Whether a stored response must be validated before use.
  public var noCache = false
  /// Whether nothing of the exchange may be stored.
  public var noStore = false
  /// Whether only a stored response is acceptable.
  public var onlyIfCached = false

  /// Creates an empty set of directives.
  public init() {}

  /// Reads the directives of a request.
  ///
  /// `Pragma: no-cache` counts as `no-cache` if there is no `Cache-Control`, as in RFC 7234,
  /// section 5.4; RFC 9111 leaves that open.
  ///
  /// - Complexity: O(*n*) in the bytes of `Cache-Control` and `Pragma`.
  public init(_ fields: HTTPFields) {
    var hasCacheControl = false
    var hasPragmaNoCache = false
    for field in fields {
      let length = field.name.utf8.count
      if length == 13, field.isNamed("Cache-Control") {
        hasCacheControl = true
        field.value.withSpan { add($0) }
      } else if length == 6, field.isNamed("Pragma") {
        var pragma = RequestDirectives()
        field.value.withSpan { pragma.add($0) }
        hasPragmaNoCache = hasPragmaNoCache || pragma.noCache
      }
    }
    if hasPragmaNoCache, !hasCacheControl { noCache = true }
  }

  private mutating func add(_ line: Span<UInt8>) {
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
    case .onlyIfCached: onlyIfCached = true
    default: break
    }
  }
}

extension DirectiveSyntax.Argument {
  func seconds(_ line: Span<UInt8>) -> Int64? {
    guard case .value(let range) = self else { return nil }
    return DeltaSeconds.parse(line, in: range)
  }

  /// Returns the field names, or ``FieldList/all`` if the argument is not a list of names.
  func fieldList(_ line: Span<UInt8>) -> FieldList {
    guard case .value(let range) = self else { return .all }
    return FieldList(argument: line, in: range)
  }

  /// Whether there is no argument, which is right for most directives.
  var isAbsent: Bool {
    if case .none = self { return true }
    return false
  }
}
