import Testing

/// Plays our own cases against the library: each of them has to pass, whatever its kind.
struct OwnCasesTests {
  private static func cases() throws -> [ConformanceCase] {
    try SharedData.ownCases().flatMap(CaseFile.cases(at:))
  }

  @Test(
    "every own case passes", arguments: Laboratory.Role.allCases,
    [Laboratory.Way.disk, .memory, .tier])
  func ownCases(_ role: Laboratory.Role, _ way: Laboratory.Way) async throws {
    for scores in try await Laboratory.play(Self.cases(), role: role, way: way) {
      print("own cases, \(role.rawValue) cache, from \(way.rawValue)\n\(scores.table)")
      for kind in CaseKind.allCases {
        for (id, reason) in scores.failures(kind).sorted(by: { $0.key < $1.key }) {
          Issue.record("\(kind) \(id): \(reason)")
        }
      }
    }
  }

  @Test("ids are unique, and each dependency is a case before it")
  func ids() throws {
    var known: Set<String> = []
    for test in try Self.cases() {
      #expect(test.id.hasPrefix("own-"))
      #expect(known.isSuperset(of: test.dependsOn), "\(test.id)")
      #expect(known.insert(test.id).inserted, "\(test.id) is there twice")
    }
  }
}
