import StoreChecking
import Testing

@testable import StoreChecking

@Suite struct ReporterTests {
  private let listener = Listener()

  @Test func `findings are counted by kind, and told in their order`() {
    let reporter = Reporter(listener, skipped: [])
    let (left, failed) = (
      Finding(.bodyWrong, path: [1], detail: ""),
      Finding(.bodyWrong, path: [2], detail: "", outcome: .failed("why"))
    )
    let repaired = Finding(.wrongMode, path: [3], detail: "", outcome: .repaired)
    reporter.tell(left)
    reporter.tell([failed, repaired])
    #expect(listener.findings == [left, failed, repaired])
    let report = reporter.end()
    #expect(report.findings[.bodyWrong]?.found == 2 && report.findings[.bodyWrong]?.repaired == 0)
    #expect(report.findings[.wrongMode]?.found == 1 && report.findings[.wrongMode]?.repaired == 1)
    #expect(report.findings.count == 2)
  }

  @Test func `the last progress has all that was done, and the shards of an earlier run`() throws {
    let reporter = Reporter(listener, skipped: [3, 255])
    reporter.begin(entries: 10, bytes: 1_000) { $0.storeID = "id" }
    reporter.add(entries: 4, files: 9, bytes: 300, shard: 0)
    reporter.add(entries: 1, files: 2, bytes: 700)
    reporter.add(shard: 255)
    reporter.change { $0.journalBytes = 77 }
    let report = reporter.end()
    #expect(report.entries == 5 && report.files == 11 && report.readBytes == 1_000)
    #expect(report.storeID == "id" && report.journalBytes == 77 && report.findings.isEmpty)
    let last = try #require(listener.progress.last)
    #expect(last.entries == 5 && last.totalEntries == 10)
    #expect(last.bytes == 1_000 && last.totalBytes == 1_000 && last.shards == [0, 3, 255])
    #expect(listener.progress.map(\.entries) == listener.progress.map(\.entries).sorted())
  }
}
