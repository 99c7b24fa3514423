import Testing

@testable import StoreMigration

struct MigrationErrorTests {
  @Test func `the texts name the path first, then the problem, then what to do`() {
    let errors: [MigrationError] = [
      .same("/a"), .destinationInSource("/a", "/b"), .sourceInDestination("/a", "/b"),
      .reportInSource("/a", "/b"), .reportInDestination("/a", "/b"),
      .source(SourceError(.empty, "/a")),
    ]
    let texts = errors.map(\.description)
    #expect(Set(texts).count == texts.count)
    for text in texts {
      #expect(text.hasPrefix("/a: ") && text.contains("; ") && !text.contains("\n"), "\(text)")
    }
    for text in texts[1..<5] { #expect(text.contains("/b"), "\(text)") }
  }
}
