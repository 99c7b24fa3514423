import Foundation
import Testing

/// Holds Docs/HTTPConformance.md to what it says: every test and case that it names
/// exists.
struct ConformanceTableTests {
  private static let package = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Returns requirement and tests of each row that has both.
  private func rows() throws -> [[String]] {
    let page = try String(
      contentsOf: Self.package.appending(path: "Docs/HTTPConformance.md"), encoding: .utf8)
    return page.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| "), line.hasSuffix(" |") else { return nil }
      let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
        .map { $0.trimmingCharacters(in: .whitespaces) }
      return cells.count == 2 && cells[1] != "test" ? cells : nil
    }
  }

  /// Returns the text of the tests of all modules, by the names of their suites.
  private func suites() throws -> [String: String] {
    let folder = Self.package.appending(path: "Tests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var texts: [String: String] = [:]
    for case let file as URL in try #require(files) where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /struct (\w+Tests)\b/) {
        texts[String(match.output.1), default: ""] += text
      }
    }
    return texts
  }

  /// Returns the text of the package's own cases, which ConformanceTests replays.
  private func cases() throws -> String {
    let folder = Self.package.appending(path: "Tests/ConformanceCases")
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    return try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
  }

  /// Returns whether a suite has a test of this name; one that ends in "…" begins the name of
  /// exactly one test.
  private func hasTest(_ name: String, in suite: String) -> Bool {
    guard name.hasSuffix("…") else { return suite.contains("func `\(name)`(") }
    return suite.components(separatedBy: "func `\(name.dropLast())").count == 2
  }

  @Test func `every row of the conformance table names tests that exist`() throws {
    let suites = try suites()
    let cases = try cases()
    let rows = try rows()
    #expect(rows.count > 80)
    var missing: [String] = []
    var suite = ""
    for row in rows {
      #expect(row.allSatisfy { !$0.isEmpty }, "\(row)")
      for reference in row[1].components(separatedBy: "; ") {
        var sentence = reference
        if let prefix = reference.prefixMatch(of: #/(\w+Tests): /#) {
          suite = String(prefix.output.1)
          sentence.removeSubrange(prefix.range)
        }
        let isThere =
          if sentence.hasPrefix("own-") {
            cases.contains("\"id\": \"\(sentence)\"")
          } else {
            hasTest(sentence, in: suites[suite] ?? "")
          }
        if !isThere { missing.append("\(suite): \(sentence)") }
      }
    }
    #expect(missing == [])
  }
}
