import Foundation
import StoreMigration
import Testing

@Suite struct RowReasonTests {
  @Test func `each reason says in a sentence what it means, under a name of its own`() {
    for reason in RowReason.all {
      #expect(reason.meaning.hasSuffix("."))
      #expect(reason.name.allSatisfy { $0.isLowercase || $0 == "_" })
      #expect(RowReason(named: reason.name) == reason)
    }
    #expect(Set(RowReason.all).count == RowReason.all.count)
    #expect(RowReason(named: "") == nil)
  }

  @Test func `the page for users has the same table`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = root.deletingLastPathComponent().appending(path: "Docs/Migrate.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let table = try #require(
      text.split(separator: "## Reasons").last?.split(separator: "## ").first)
    let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    #expect(
      rows == RowReason.all.map { "| `\($0.name)` | \($0.isFault ? "yes" : "-") | \($0.meaning) |" }
    )
  }
}
