import Testing

@testable import StoreMigration

struct SourceErrorTests {
  @Test func `each cause has a text of its own: the path, the problem and what to do`() {
    let texts = SourceError.Cause.allCases.map { "\(SourceError($0, "/p"))" }
    #expect(Set(texts).count == texts.count)
    for text in texts {
      #expect(text.hasPrefix("/p: ") && text.contains("; ") && text.last != ".", "\(text)")
    }
  }

  @Test func `details stand in parentheses behind the problem`() {
    let error = SourceError(.truncated, "/p", "7 of 9 pages")
    #expect(
      "\(error)" == "/p: the file is cut off (7 of 9 pages); copy it again from where it came from")
  }
}
