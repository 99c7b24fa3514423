import Testing

@testable import HTTPSemantics

struct CacheDirectiveTests {
  private func directive(_ name: String) -> CacheDirective? {
    PackedName(name.utf8).flatMap { CacheDirective($0) }
  }

  @Test(arguments: [
    ("immutable", CacheDirective.immutable), ("private", .isPrivate), ("public", .isPublic),
    ("max-age", .maxAge), ("max-stale", .maxStale), ("min-fresh", .minFresh),
    ("must-revalidate", .mustRevalidate), ("must-understand", .mustUnderstand),
    ("no-cache", .noCache), ("no-store", .noStore), ("only-if-cached", .onlyIfCached),
    ("proxy-revalidate", .proxyRevalidate), ("s-maxage", .sMaxAge),
    ("stale-if-error", .staleIfError), ("stale-while-revalidate", .staleWhileRevalidate),
  ])
  func `a directive is found by its whole name, in any case`(
    name: String, expected: CacheDirective
  ) {
    #expect(directive(name) == expected)
    #expect(directive(name.uppercased()) == expected)
    for other in [name + "x", "x" + name, String(name.dropLast()), name + "\0", name + " "] {
      #expect(directive(other) == nil, "\(other)")
    }
  }

  @Test(arguments: ["", "no-transform", "nostore", "maxage", "s-max-age", "community", "\0"])
  func `any other name is no directive`(name: String) {
    #expect(directive(name) == nil)
  }
}
