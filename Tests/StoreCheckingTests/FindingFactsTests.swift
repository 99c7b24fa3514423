import Foundation
import StoreChecking
import Testing

@Suite struct FindingFactsTests {
  @Test("each kind says in sentences what it means and what repair does")
  func sentences() {
    for kind in FindingKind.allCases {
      #expect(kind.facts.meaning.hasSuffix("."), "\(kind)")
      #expect(kind.facts.remedy.hasSuffix("."), "\(kind)")
      #expect(kind.rawValue.allSatisfy { $0.isLowercase || $0 == "-" }, "\(kind)")
    }
  }

  /// The cells of the rows of Docs/Fsck.md that begin with a name in code.
  private func rows() throws -> [[String]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let page = root.deletingLastPathComponent().appending(path: "Docs/Fsck.md")
    return try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("| `") }
      .map { line in
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      }
      .filter { $0.count == 6 }
  }

  @Test("the page for users has the same table, each kind once")
  func page() throws {
    let rows = try rows()
    #expect(rows.map(\.[0]).sorted() == FindingKind.allCases.map { "`\($0.rawValue)`" }.sorted())
    for kind in FindingKind.allCases {
      let facts = kind.facts
      #expect(
        rows.first { $0[0] == "`\(kind.rawValue)`" } == [
          "`\(kind.rawValue)`", facts.severity.rawValue, facts.meaning, facts.remedy,
          facts.repairedBy?.rawValue ?? "-", facts.losesData ? "yes" : "-",
        ])
    }
  }
}
