import Testing

@testable import StoreChecking

@Suite struct CheckReportTests {
  @Test func `notes that no repair can clear do not count`() {
    var report = CheckReport()
    #expect(report.found == 0 && report.left == 0)
    for kind in FindingKind.allCases { report.findings.add(Finding(kind, path: [], detail: "d")) }
    let wrong = FindingKind.allCases.filter(\.facts.isWrong)
    #expect(report.found == wrong.count && wrong.count < FindingKind.allCases.count)
    #expect(report.repaired == 0 && report.left == wrong.count)
  }

  @Test func `repairs and losses are counted by kind`() {
    var counts: [FindingKind: CheckReport.Count] = [:]
    counts.add(Finding(.bodyMissing, path: [1], detail: "d", outcome: .repaired, lostEntries: 2))
    counts.add(Finding(.bodyMissing, path: [2], detail: "d", outcome: .failed("no")))
    // A forecast of what a repair would take.
    counts.add(Finding(.bodyShort, path: [3], detail: "d", lostEntries: 1))
    #expect(counts[.bodyMissing] == CheckReport.Count(found: 2, repaired: 1, lostEntries: 2))
    #expect(counts.found == 3 && counts.repaired == 1 && counts.left == 2)
    #expect(counts.lostEntries == 3)
  }
}
