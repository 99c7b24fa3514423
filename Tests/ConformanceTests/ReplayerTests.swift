import Foundation
import TestSupport
import Testing

/// Checks the replayer itself: what it says of caches whose behaviour is known.
struct ReplayerTests {
  private static func read(_ json: String) throws -> [ConformanceCase] {
    let folder = TemporaryFolder()
    let file = folder.url.appending(path: "cases.json")
    try Data(json.utf8).write(to: file)
    return try CaseFile.cases(at: file.path)
  }

  private static func test(
    _ id: String, kind: String = "required", dependsOn: String = "", _ requests: String
  ) -> String {
    """
    {"id": "\(id)", "suite": "s", "kind": "\(kind)", "modes": ["shared", "private"],
     "depends_on": [\(dependsOn)], "requests": [\(requests)]}
    """
  }

  /// The figures are those of Tools/conformance, a replayer that shares no code with this one. It
  /// counts one check case more, `cdn-date-update-exceed`: its origin, like that of the suite,
  /// dates all answers, while the one here leaves that to the case.
  @Test(
    "without a cache exactly those cases pass that need none",
    .enabled(if: SharedData.publicCases != nil, SharedData.hint),
    arguments: [
      (Laboratory.Role.sharedCache, [13, 0, 2], [47, 0, 14]),
      (Laboratory.Role.privateCache, [12, 0, 1], [43, 0, 12]),
    ])
  func noCache(_ role: Laboratory.Role, passed: [Int], passedAlone: [Int]) async throws {
    let cases = try CaseFile.cases(at: #require(SharedData.publicCases))
    let scores = try await Laboratory.playWithoutCache(cases, role: role)
    #expect(CaseKind.allCases.map { scores.count($0).passed } == passed)
    #expect(CaseKind.allCases.map { scores.countAlone($0) } == passedAlone)
  }

  @Test("a cache that does what is asked passes, one that does not fails with its reason")
  func verdicts() async throws {
    let cases = try Self.read(
      """
      {"tests": [
        \(Self.test("asks-twice", "{}, {\"expected_type\": \"not_cached\"}")),
        \(Self.test("wants-store", "{}, {\"expected_type\": \"cached\"}")),
        \(Self.test("after", dependsOn: "\"wants-store\"", "{}")),
        \(Self.test("after-that", dependsOn: "\"after\"", "{}")),
        \(Self.test("cannot-set-up", "{}, {\"expected_type\": \"cached\", \"setup\": true}")),
        \(Self.test("closes", "{\"disconnect\": true}")),
        \(Self.test("fails", "{\"disconnect\": true, \"expected_type\": \"failed\"}")),
        \(Self.test("conditional", "{}, {\"expected_type\": \"etag_validated\"}")),
        \(Self.test("body", "{\"expected_response_text\": \"other\", \"response_body\": \"a\"}"))
      ]}
      """)
    let scores = try await Laboratory.playWithoutCache(cases, role: .sharedCache)
    #expect(
      cases.map { scores.verdict($0.id).reason } == [
        "", "answer 2 does not come from the cache (status 200)",
        "depends on wants-store, which does not pass", "depends on after, which does not pass",
        "cannot be set up: answer 2 does not come from the cache (status 200)",
        "request 1: fetch failed: http://origin.test/test/5eed0000-0000-4000-8000-000000000005: "
          + "the connection ended before there was an answer; try again",
        "", "request 2 should have been conditional with the stored validator",
        "answer 1 has the body \"a\", not \"other\"",
      ])
    #expect(scores.verdict("never-played") == .untested)
  }

  @Test("dates count from now, in the form that the case names")
  func dates() {
    let line = FieldLine(name: "Expires", value: .secondsFromNow(-60))
    #expect(DateText.text(of: line, now: 1_767_225_600) == "Wed, 31 Dec 2025 23:59:00 GMT")
    #expect(
      DateText.text(of: line, now: 1_767_225_600, rfc850: ["expires"])
        == "Wednesday, 31-Dec-25 23:59:00 GMT")
  }

  @Test("a family makes one case of each combination, and keeps numbers as numbers")
  func families() throws {
    let cases = try Self.read(
      """
      {"tests": [{"id": "a-{s}-{f.n}", "suite": "s", "kind": "check", "modes": ["shared"],
        "for_each": {"s": [200, 404], "f": [{"n": "x", "v": "1"}, {"n": "y", "v": "2"}]},
        "requests": [{"response_status": ["{s}", "OK"], "response_headers": [["{f.n}", "{f.v}"]]}]
      }]}
      """)
    #expect(cases.map(\.id) == ["a-200-x", "a-404-x", "a-200-y", "a-404-y"])
    #expect(cases.map { $0.exchanges[0].status } == [200, 404, 200, 404])
    #expect(
      cases[3].exchanges[0].responseFields == [FieldLine(name: "y", value: .text("2"))])
  }

  @Test("a member that is not known is refused, so that no expectation is overlooked")
  func unknownMember() throws {
    let error = #expect(throws: CaseFile.Malformed.self) {
      try Self.read("{\"tests\": [\(Self.test("a", "{\"expected_colour\": \"red\"}"))]}")
    }
    #expect(error?.description == "a, request 1: the member `expected_colour` is not known")
  }
}
