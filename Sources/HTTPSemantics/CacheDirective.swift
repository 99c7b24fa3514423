/// The cache directives that this package supports.
///
/// All others are ignored, as RFC 9111, section 5.2.3 requires; `no-transform`, because no content is
/// transformed.
enum CacheDirective {
  case immutable, isPrivate, isPublic, maxAge, maxStale, minFresh, mustRevalidate, mustUnderstand
  case noCache, noStore, onlyIfCached, proxyRevalidate, sMaxAge, staleIfError
  case staleWhileRevalidate

  init?(_ name: PackedName) {
    guard let found = Self.byLength[name.count].first(where: { $0.name == name }) else {
      return nil
    }
    self = found.directive
  }

  private struct Entry {
    let name: PackedName
    let directive: CacheDirective
  }

  private static let named: [(String, CacheDirective)] = [
    ("immutable", .immutable), ("private", .isPrivate), ("public", .isPublic),
    ("max-age", .maxAge), ("max-stale", .maxStale), ("min-fresh", .minFresh),
    ("must-revalidate", .mustRevalidate), ("must-understand", .mustUnderstand),
    ("no-cache", .noCache), ("no-store", .noStore),
    ("only-if-cached", .onlyIfCached), ("proxy-revalidate", .proxyRevalidate),
    ("s-maxage", .sMaxAge), ("stale-if-error", .staleIfError),
    ("stale-while-revalidate", .staleWhileRevalidate),
  ]

  /// The directives by the length of their names: 0, 1, 2, ... bytes.
  private static let byLength: [[Entry]] = (0...PackedName.maximumLength).map { length in
    named.compactMap { text, directive in
      guard text.utf8.count == length, let name = PackedName(text.utf8) else { return nil }
      return Entry(name: name, directive: directive)
    }
  }
}
