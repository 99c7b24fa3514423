import Testing

/// Plays the public suite's cases, as far as they are there, against the library.
struct PublicCasesTests {
  /// Names the optimal cases that the library does not pass, each with its reason in
  /// `Docs/Conformance.md`.
  private static let exceptions: Set<String> = [
    "conditional-lm-fresh-no-lm",
    "partial-store-partial-reuse-partial-absent",
    "partial-store-partial-reuse-partial-byterange",
    "vary-normalise-lang-select",
  ]

  /// Names the optimal cases that do not pass if each request goes to another machine, because the
  /// answer is never shared (Docs/Sharing.md), with the required ones that depend on them.
  private static let neverShared: Set<String> = {
    let selectors = [
      "match", "2-match", "3-match", "3-omit", "3-no-match", "3-order", "no-match", "cache-key",
      "normalise-combine", "syntax-empty-star", "syntax-star",
    ]
    let statuses = [299, 302, 303, 400, 499, 500, 502, 503, 504, 599]
    return Set(
      ["cc-resp-private-private", "other-authorization-must-revalidate"]
        // Their answers are selected by unknown fields, which may be credentials.
        + selectors.map { "vary-\($0)" } + ["conditional-etag-vary-headers"]
        + [204, 405, 414].map { "heuristic-\($0)-cached" }
        + statuses.flatMap { ["status-\($0)-fresh", "status-\($0)-stale"] })
  }()

  @Test(
    "every required case passes, and every optimal one but the named exceptions",
    .enabled(if: SharedData.publicCases != nil, SharedData.hint),
    arguments: Laboratory.Role.allCases, Laboratory.Way.allCases)
  func publicCases(_ role: Laboratory.Role, _ way: Laboratory.Way) async throws {
    let cases = try CaseFile.cases(at: #require(SharedData.publicCases))
    for scores in try await Laboratory.play(cases, role: role, way: way) {
      print("public cases, \(role.rawValue) cache, from \(way.rawValue)\n\(scores.table)")
      check(scores, way)
    }
  }

  /// Returns whether the reason is that a step before the tested one has failed.
  private func isUntested(_ reason: String) -> Bool {
    reason.hasPrefix("depends on") || reason.hasPrefix("cannot be set up")
  }

  private func check(_ scores: Scores, _ way: Laboratory.Way) {
    let exceptions = way == .team ? Self.exceptions.union(Self.neverShared) : Self.exceptions
    for (id, reason) in scores.failures(.required).sorted(by: { $0.key < $1.key })
    where !(isUntested(reason) && exceptions.contains(id)) {
      Issue.record("required \(id): \(reason)")
    }
    let failing = scores.failures(.optimal)
    for (id, reason) in failing.sorted(by: { $0.key < $1.key })
    where !exceptions.contains(id) {
      Issue.record("optimal \(id): \(reason)")
    }
    let played = Set(scores.cases.map(\.id))
    for id in Self.exceptions.intersection(played).sorted() where failing[id] == nil {
      Issue.record("\(id) passes: take it from the exceptions")
    }
  }
}
